/* Every function of jfl.h with what is wrong for each of its arguments in turn, all others being
   right: it fails with a message that names the argument, or does without, and harms nothing. The
   calls are made from the header by scripts/entries.sh, so a new function is called too. */
#include "lua_test.h"
#include "misuse.h"

enum { NO_STATUS = -1 };

/* ---- what is right; GOOD_function_argument differs from what its type gets ---- */

#define good_jfl_array_p() f.a
#define good_jfl_op_p() jfl_op_find("relu")
#define good_jfl_optimizer_p() jfl_optimizer_at(0)
#define good_jfl_graph_p() f.g
#define good_jfl_value_p() f.y
#define good_jfl_session_p() f.s
#define good_jfl_job_p() f.job
#define good_jfl_plan_p() f.p
#define good_jfl_request_p() f.r
#define good_jfl_report_p() f.report
#define good_jfl_checkpoint_p() f.c
#define good_jfl_profile_p() f.profile
#define good_jfl_output_p() f.output
#define good_jfl_loader_p() f.loader
#define good_jfl_pack_p() f.pack
#define good_jfl_csv_p() f.table
#define good_jfl_tokenizer_p() f.tokenizer
#define good_jfl_encoding_p() f.encoding
#define good_jfl_script_p() f.script
#define good_jfl_script_job_p() f.script_job
#define good_jfl_script_value_p() SLOT(jfl_script_value)
#define good_jfl_script_done() NULL
#define good_jfl_script_function() answer
#define good_jfl_log_p() NULL
#define good_jfl_thread_hooks_p() NULL
#define good_jfl_mode_p() SLOT(jfl_mode)
#define good_jfl_node_p() SLOT(jfl_node)

#define good_jfl_array_pp() f.out
#define good_jfl_value_pp() f.made_value
#define good_jfl_graph_pp() &f.made_graph[f.n_graph++]
#define good_jfl_session_pp() &f.made_session
#define good_jfl_job_pp() &f.made_job
#define good_jfl_plan_pp() &f.made_plan
#define good_jfl_request_pp() &f.made_request
#define good_jfl_report_pp() &f.made_report
#define good_jfl_checkpoint_pp() &f.made_checkpoint
#define good_jfl_profile_pp() &f.made_profile
#define good_jfl_output_pp() &f.made_output
#define good_jfl_loader_pp() &f.made_loader
#define good_jfl_pack_pp() &f.made_pack
#define good_jfl_csv_pp() &f.made_table
#define good_jfl_tokenizer_pp() &f.made_tokenizer
#define good_jfl_encoding_pp() &f.made_encoding
#define good_jfl_token_pp() SLOT(const jfl_token *)
#define good_jfl_text_p() small_texts
#define good_jfl_batch_p() &f.made_batch
#define good_jfl_bpe_spec_p() &small_bpe
#define good_jfl_encode_spec_p() NULL
#define good_int32_t() 0
#define good_c_int32_t_p() small_ids
#define good_jfl_arg_pp() &f.made_arguments
#define good_jfl_script_pp() &f.made_script
#define good_jfl_script_job_pp() &f.made_script_job
#define good_jfl_script_options_p() NULL
#define good_jfl_csv_spec_p() &commas
#define good_size_t_p() SLOT(size_t)
#define good_char_pp() &f.text
#define good_jfl_shape_pp() SLOT(const jfl_shape *)
#define good_jfl_dtype_p() SLOT(jfl_dtype)
#define good_jfl_loaded_p() SLOT(jfl_loaded)
#define good_jfl_op_info_p() SLOT(jfl_op_info)
#define good_jfl_optimizer_info_p() SLOT(jfl_optimizer_info)
#define good_jfl_param_p() SLOT(jfl_param)
#define good_jfl_profile_row_p() SLOT(jfl_profile_row)
#define good_jfl_plan_step_p() SLOT(jfl_plan_step)
#define good_jfl_note_p() (note = (jfl_note){ "key", "value" }, &note)
#define good_c_char_pp() SLOT(const char *)
#define good_double_p() SLOT(double)
#define good_c_double_p() &half
#define good_int_p() SLOT(int)
#define good_uint64_t_p() SLOT(uint64_t)
#define good_uint64_t() 3
#define good_c_uint64_t_p() seeds
#define good_jfl_picture_spec_p() &small_picture
#define good_jfl_sample_spec_p() &small_sample
#define good_jfl_mel_spec_p() &small_mel
#define good_jfl_place_p() &small_place
#define good_jfl_member_p() SLOT(jfl_member)
#define good_jfl_sound_info_p() SLOT(jfl_sound_info)
#define good_jfl_pack_kind() JFL_OFRECORD
#define good_jfl_share_p() &whole_call

#define good_c_char_p() fresh_name()
#define good_c_void_p() memset(room, 0, sizeof room)
#define good_void_p() memset(room, 0, sizeof room)
#define good_asked_fn() NULL
#define good_int() 0
#define good_int64_t() 0
#define good_size_t() 0
#define good_count() 0
#define good_n_bytes() sizeof room
#define good_double() 0
#define good_jfl_dtype() JFL_F32
#define good_jfl_mode() JFL_PREDICT
#define good_jfl_deflate() JFL_ZLIB
#define good_jfl_status() JFL_OK
#define good_jfl_distribution() ((jfl_distribution){ JFL_BROADCAST, 0 })
#define good_jfl_distribution_p() SLOT(jfl_distribution)
#define good_jfl_members_p() SLOT(jfl_members)
#define good_jfl_part() JFL_ERROR_TEXT
#define good_jfl_shape_p() &f.shape
#define good_jfl_array_pc_p() f.two
#define good_jfl_value_pc_p() &f.x
#define good_c_char_pc_p() names_of_two
#define good_jfl_arg_p() NULL
#define good_jfl_taken_p() as_they_are()
#define good_jfl_allocator_p() NULL
#define good_jfl_variable_spec_p() \
  (variable = (jfl_variable_spec){ .name = fresh_name(), .shape = f.shape }, &variable)

static unsigned char room[64];
static const char *const names_of_two[] = { "one", "two" };
static const char *const name_of_variable[] = { "w" };
static const jfl_arg seed_setting = { .name = "seed", .kind = JFL_ARG_NUMBER, .number = 3 };
static const jfl_arg axis = { .name = "axis", .kind = JFL_ARG_NUMBER, .number = -1 };
static const jfl_arg momentum = { .name = "momentum", .kind = JFL_ARG_NUMBER, .number = 0.5 };
static const double half = 0.5;
static const jfl_share whole_call = { .signature = -1, .parts = 1 };
static const uint64_t seeds[] = { 1, 2 };
static const jfl_sample_spec small_sample = { .kind = JFL_PICTURE, .picture = { .channels = 3,
                                              .fit = JFL_STRETCH, .height = 2, .width = 2 } };
static const jfl_mel_spec small_mel = { .rate = 8000, .n_fft = 4, .hop = 2, .bands = 1 };
static const jfl_place small_place = { "small.jpg", 0, 0, 7 };
static const char small_sound[] = "RIFF\4\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0"
                                  "\x80\x3e\0\0\2\0\x10\0" "data\2\0\0\0\1";
static jfl_minimize minimize;
static jfl_note note;
static jfl_variable_spec variable;

static jfl_status answer(void *ud, const jfl_script_value *arg, int n, jfl_script_value *result)
{
  return (void)ud, (void)arg, (void)n, (void)result, JFL_OK;
}

/* Room for a result. */
static void *slot(void)
{
  static _Alignas(64) char slots[FEW][256];
  static unsigned at;
  return memset(slots[at++ % FEW], 0, sizeof *slots);
}
#define SLOT(T) ((T *)slot())

#define GOOD_jfl_dtype_parse_name "float32"
#define GOOD_jfl_printable_text "abc"
#define GOOD_jfl_printable_n 3
#define GOOD_jfl_printable_out slot()
#define GOOD_jfl_printable_size 200
#define GOOD_jfl_text_free_text fresh_text()
#define GOOD_jfl_arguments_free_arg fresh_arguments()
#define GOOD_jfl_array_unref_a jfl_array_ref(f.a)
#define GOOD_jfl_array_ref_a (f.out[0] = f.a)
#define GOOD_jfl_array_rows_count 1
#define GOOD_jfl_inflate_src jfl_array_data(f.packed)
#define GOOD_jfl_inflate_n (size_t)jfl_array_size(f.packed)
#define GOOD_jfl_inflate_within_src jfl_array_data(f.packed)
#define GOOD_jfl_inflate_within_n (size_t)jfl_array_size(f.packed)
#define GOOD_jfl_inflate_within_most 100
#define GOOD_jfl_inflate_head_count 1
#define GOOD_jfl_inflate_head_src jfl_array_data(f.packed)
#define GOOD_jfl_inflate_head_n (size_t)jfl_array_size(f.packed)
#define GOOD_jfl_picture_decode_data jfl_array_data(f.jpeg)
#define GOOD_jfl_picture_decode_n (size_t)jfl_array_size(f.jpeg)
#define GOOD_jfl_jpeg_encode_pixels f.pixels
#define GOOD_jfl_jpeg_encode_quality 90
#define GOOD_jfl_loader_want_n 2
#define GOOD_jfl_loader_take_l wanting_loader()
#define GOOD_jfl_loader_take_some_l wanting_loader()
#define GOOD_jfl_loader_want_places_n 1
#define GOOD_jfl_sample_decode_data jfl_array_data(f.jpeg)
#define GOOD_jfl_sample_decode_n (size_t)jfl_array_size(f.jpeg)
#define GOOD_jfl_sound_head_data small_sound
#define GOOD_jfl_sound_head_n sizeof small_sound
#define GOOD_jfl_sound_resample_from 8000
#define GOOD_jfl_sound_resample_to 4000
#define GOOD_jfl_pack_open_path "small-0"
#define GOOD_jfl_pack_free_p fresh_pack()
#define GOOD_jfl_csv_read_path "small.csv"
#define GOOD_jfl_csv_free_t fresh_table()
#define GOOD_jfl_csv_column_column 1
#define GOOD_jfl_tokenizer_read_path "small.json"
#define GOOD_jfl_tokenizer_parse_json small_tokenizer
#define GOOD_jfl_tokenizer_parse_n (sizeof small_tokenizer - 1)
#define GOOD_jfl_tokenizer_train_n 2
#define GOOD_jfl_tokenizer_batch_n 2
#define GOOD_jfl_tokenizer_decode_n 2
#define GOOD_jfl_tokenizer_free_t fresh_tokenizer()
#define GOOD_jfl_encoding_free_e fresh_encoding()
#define GOOD_jfl_loader_free_l fresh_loader()
#define GOOD_jfl_script_free_s fresh_script()
#define GOOD_jfl_script_run_text "x = 1"
#define GOOD_jfl_script_run_n 5
#define GOOD_jfl_script_run_file_path "small.lua"
#define GOOD_jfl_script_get_path "x"
#define GOOD_jfl_script_session_out SLOT(jfl_session *)
#define GOOD_jfl_script_invoke_path "f"
#define GOOD_jfl_script_invoke_n_arg 1
#define GOOD_jfl_script_invoke_n_out 1
#define GOOD_jfl_script_job_input_shape SLOT(jfl_shape)
#define GOOD_jfl_script_job_bound_shape SLOT(jfl_shape)
#define GOOD_jfl_script_job_output_shape SLOT(jfl_shape)
#define GOOD_jfl_script_job_find_name "job"
#define GOOD_jfl_script_call_in &f.a
#define GOOD_jfl_script_call_n_in 1
#define GOOD_jfl_script_call_n_out 1
#define GOOD_jfl_script_submit_in &f.a
#define GOOD_jfl_script_submit_n_in 1
#define GOOD_jfl_script_load_path "saved"
#define GOOD_jfl_set_log_log NULL
#define GOOD_jfl_op_param_op jfl_op_find("dropout")
#define GOOD_jfl_optimizer_check_o jfl_optimizer_find("SGD")
#define GOOD_jfl_optimizer_check_arg &momentum
#define GOOD_jfl_optimizer_check_n_arg 1
#define GOOD_jfl_schedule_rate_schedule jfl_op_find("piecewise_constant_schedule")
#define GOOD_jfl_schedule_rate_arg good_minimize().schedule_arg
#define GOOD_jfl_schedule_rate_n_arg 2
#define GOOD_jfl_op_outputs_op jfl_op_find("softmax")
#define GOOD_jfl_op_outputs_n_in 1
#define GOOD_jfl_op_outputs_arg &axis
#define GOOD_jfl_op_outputs_n_arg 1
#define GOOD_jfl_op_signatures_op jfl_op_find("softmax")
#define GOOD_jfl_op_signatures_n_in 1
#define GOOD_jfl_op_signatures_arg &axis
#define GOOD_jfl_op_signatures_n_arg 1
#define GOOD_jfl_op_signatures_parts 2
#define GOOD_jfl_eager_part_op jfl_op_find("softmax")
#define GOOD_jfl_eager_part_n_in 1
#define GOOD_jfl_eager_part_arg &axis
#define GOOD_jfl_eager_part_n_arg 1
#define GOOD_jfl_eager_op jfl_op_find("softmax")
#define GOOD_jfl_eager_n_in 1
#define GOOD_jfl_eager_arg &axis
#define GOOD_jfl_eager_n_arg 1
#define GOOD_jfl_graph_ref_g (f.made_graph[f.n_graph++] = f.g)
#define GOOD_jfl_graph_unref_g jfl_graph_ref(f.g)
#define GOOD_jfl_graph_place_device "cpu"
#define GOOD_jfl_graph_micro_batches_n 2
#define GOOD_jfl_graph_find_variable_name "v"
#define GOOD_jfl_graph_op_op jfl_op_find("softmax")
#define GOOD_jfl_graph_op_n_in 1
#define GOOD_jfl_graph_op_arg &axis
#define GOOD_jfl_graph_op_n_arg 1
#define GOOD_jfl_graph_minimize_g fresh_training()
#define GOOD_jfl_graph_minimize_m (minimize = good_minimize(), &minimize)
#define GOOD_jfl_graph_gradients_n_x 1
#define GOOD_jfl_graph_gradients_dy NULL
#define GOOD_jfl_graph_watch_gradient_g fresh_training()
#define GOOD_jfl_graph_watch_gradient_v f.values[0]
#define GOOD_jfl_graph_round_g graph_to_round()
#define GOOD_jfl_graph_round_v f.values[0]
#define GOOD_jfl_graph_round_scale f.values[1]
#define GOOD_jfl_graph_round_to JFL_I8
#define GOOD_jfl_apply_op "relu"
#define GOOD_jfl_apply_n 1
#define GOOD_jfl_apply_options NULL
#define GOOD_jfl_parameter_initializer "zeros"
#define GOOD_jfl_train_g fresh_training()
#define GOOD_jfl_train_loss f.values[0]
#define GOOD_jfl_train_optimizer "SGD"
#define GOOD_jfl_train_options NULL
/* None where no call follows, which would take it. */
#define GOOD_jfl_session_define_g ((at == 0 && !left) || (at == 2 && k) ? NULL : graph_to_take())
#define GOOD_jfl_world_set_n 1
#define GOOD_jfl_world_gather_size 8
#define GOOD_jfl_session_free_s fresh_session()
#define GOOD_jfl_session_set_setting &seed_setting
#define GOOD_jfl_session_get_setting "threads"
#define GOOD_jfl_device_count_kind "cpu"
#define GOOD_jfl_device_absence_kind "gpu"
#define GOOD_jfl_job_compile_j predict_job()
#define GOOD_jfl_job_compile_g fresh_graph()
#define GOOD_jfl_compile_submit_j predict_job()
#define GOOD_jfl_compile_submit_g fresh_graph()
#define GOOD_jfl_submit_behind_compiling f.compiling
#define GOOD_jfl_submit_behind_in &f.a
#define GOOD_jfl_plan_free_p fresh_plan()
#define GOOD_jfl_run_in f.in
#define GOOD_jfl_run_small_in f.in
#define GOOD_jfl_submit_in f.in
#define GOOD_jfl_request_ref_r (f.made_request = f.r)
#define GOOD_jfl_request_unref_r jfl_request_ref(f.r)
#define GOOD_jfl_profile_start_s with_profile(0)
#define GOOD_jfl_profile_stop_s with_profile(1)
#define GOOD_jfl_profile_trace_path "trace.json"
#define GOOD_jfl_profile_free_p fresh_profile()
#define GOOD_jfl_machine_peak_threads 1
#define GOOD_jfl_variable_get_name "w"
#define GOOD_jfl_variable_set_name "w"
#define GOOD_jfl_variable_set_value f.in[0]
#define GOOD_jfl_variables_set_submit_names name_of_variable
#define GOOD_jfl_variables_set_submit_values f.in
#define GOOD_jfl_variables_set_submit_n 1
#define GOOD_jfl_variable_info_name "w"
#define GOOD_jfl_variable_distribution_name "w"
#define GOOD_jfl_value_distribute_v f.x
#define GOOD_jfl_variable_drop_name fresh_variable()
#define GOOD_jfl_variables_defer_on 1
#define GOOD_jfl_checkpoint_save_notes_n_note 1
#define GOOD_jfl_checkpoint_submit_n_note 1
#define GOOD_jfl_checkpoint_write_n 2
#define GOOD_jfl_checkpoint_write_notes_n 2
#define GOOD_jfl_checkpoint_write_notes_n_note 1
#define GOOD_jfl_checkpoint_save_shards_n_note 1
#define GOOD_jfl_checkpoint_save_shards_path free_checkpoint_path()
#define GOOD_jfl_checkpoint_write_notes_path free_checkpoint_path()
#define GOOD_jfl_checkpoint_take_n jfl_checkpoint_count(good_jfl_checkpoint_p())
#define GOOD_jfl_checkpoint_remove_path fresh_checkpoint_path()
#define GOOD_jfl_checkpoint_open_path "saved"
#define GOOD_jfl_checkpoint_open_shared_path "saved"
#define GOOD_jfl_checkpoint_apply_n_only 2
#define GOOD_jfl_checkpoint_close_c fresh_checkpoint()
#define GOOD_jfl_checkpoint_load_path "saved"
#define GOOD_jfl_output_rights_path "saved"
#define GOOD_jfl_output_keep_o fresh_output()
#define GOOD_jfl_output_drop_o fresh_output()
#define GOOD_jfl_report_free_r fresh_report()

/* ---- judging a call ---- */

/* What messages call an argument whose name is too short to say. */
static const struct { const char *who, *says; } says[] = {
  { "jfl_array_new.t", "dtype" }, { "jfl_array_new.s", "array" }, { "jfl_array_rows.first", "row" },
  { "jfl_array_rows.count", "row" }, { "jfl_array_reshape.s", "shape" },
  { "jfl_plan_rate.i", "optimizer" }, { "jfl_plan_set_rate.i", "optimizer" },
  { "jfl_plan_set_rate.rate", "learning rate" },
  { "jfl_checkpoint_write.n", "names" }, { "jfl_variables_set_submit.n", "names" },
  { "jfl_session_get.setting", "setting" },
};

/* Whether the message names the argument; a count of n things is named as they are. */
static int names(const char *function, const char *argument)
{
  char who[80];
  snprintf(who, sizeof who, "%s.%s", function, argument);
  for (size_t i = 0; i < sizeof says / sizeof *says; i++)
    if (!strcmp(says[i].who, who)) return strstr(jfl_errmsg(), says[i].says) != NULL;
  if (!strncmp(argument, "n_", 2)) argument += 2;
  if (inside) return strlen(jfl_errmsg()) > 10;
  return strstr(jfl_errmsg(), argument) != NULL;
}

static int tells_what_is_there(void)
{
  return strstr(jfl_errmsg(), "must be ") && strstr(jfl_errmsg(), ", got ");
}

static void begin(void)
{
  jf_fail(JFL_ENOSYS, "nothing yet");
}

/* k: the number of what was wrong with the argument; NULL: nothing was. */
static void end(const char *function, const char *argument, int k, verdict v, int got)
{
  if (got == NO_STATUS) {
    got = v == FAILS && jfl_error_code() != JFL_ENOSYS ? (int)jfl_error_code() : JFL_OK;
    if (v == FAILS && tells)
      CHECK_MSG(got != JFL_OK, "%s: %s, wrong value %d left no error", function, argument, k);
  }
  else if (!argument) CHECK_MSG(got == JFL_OK, "%s: %s", function, jfl_errmsg());
  else if (v == FAILS) CHECK_MSG(got != JFL_OK, "%s: %s, wrong value %d", function, argument, k);
  if (argument && v == FAILS && got != JFL_OK)
    CHECK_MSG(names(function, argument), "%s: %s, wrong value %d: %s", function, argument, k,
              jfl_errmsg());
  if (argument && v == FAILS && got != JFL_OK && is_other)
    CHECK_MSG(got == JFL_EINVAL && tells_what_is_there(), "%s: %s, wrong value %d: %s", function,
              argument, k, jfl_errmsg());
  if (got != JFL_OK)
    for (int i = 0; i < FEW; i++) CHECK_MSG(!f.out[i], "%s wrote though it failed", function);
  inside = tells = is_other = 0;
  release_made();
}

#include "gen/entries.h"

/* What was used all the time still does its work. */
static void all_is_well(void)
{
  jfl_array *out[2];
  CHECK(jfl_run(f.p, f.in, out) == JFL_OK);
  counter_drop(out);
  CHECK(jfl_array_size(f.a) == 6 && jfl_array_dtype(f.a) == JFL_F32);
  CHECK(jfl_session_pending(f.s) == 0);
}

int main(void)
{
  scratch_make();
  if (chdir(scratch)) return 1;
  make_fixture();
  make_gone();
#define ENTRY(name) RUN(misuse_##name);
  ENTRIES
  RUN(all_is_well);
  drop_fixture();
  drop_kept();
  return test_done();
}
