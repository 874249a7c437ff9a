/* Tokenizers in Lua. */
#include "bind/bind.h"

#include <string.h>

enum { MOST_TEXTS = 1 << 24 };

static void drop_tokenizer(void *p) { jfl_tokenizer_free(p); }
static void drop_encoding(void *p) { jfl_encoding_free(p); }

static jfl_tokenizer *need_tokenizer(lua_State *L)
{
  return jf_need_held(L, drop_tokenizer, "tokenizer", "it")->tokenizer;
}

static jfl_text tokenizer_need_text(lua_State *L, int i, const char *what)
{
  jfl_text t;
  t.s = jf_need_bytes(L, i, "tokenizer", what, &t.n);
  return t;
}

/* Pushes room for the texts of the list at i, which keeps them, and fills it. */
static jfl_text *tokenizer_need_texts(lua_State *L, int i, const char *what, int *n)
{
  luaL_checktype(L, i, LUA_TTABLE);
  const size_t count = lua_objlen(L, i);
  if (count > MOST_TEXTS) jf_raise(L, "tokenizer: %s must be at most %d", what, (int)MOST_TEXTS);
  jfl_text *list = lua_newuserdata(L, (count + !count) * sizeof *list);
  for (size_t k = 0; k < count; k++) {
    lua_rawgeti(L, i, (int)k + 1);
    if (lua_type(L, -1) != LUA_TSTRING)          /* a number would be made a string of its own */
      jf_raise(L, "tokenizer: %s[%d] must be a string, got %s", what, (int)k + 1,
               jf_type_name(L, -1));
    list[k] = tokenizer_need_text(L, -1, what);
    lua_pop(L, 1);
  }
  *n = (int)count;
  return list;
}

static int64_t tokenizer_field(lua_State *L, int i, const char *name, double least)
{
  return jf_whole_field(L, i, "tokenizer", name, least, 0x1p31 - 1);
}

/* Reads { bare =, literal =, most =, length =, cut =, pad = } at i; sides are 1, left, or 2. */
static jfl_encode_spec tokenizer_need_spec(lua_State *L, int i)
{
  luaL_checktype(L, i, LUA_TTABLE);
  return (jfl_encode_spec){ .bare = jf_true_field(L, i, "bare"),
                            .literal = jf_true_field(L, i, "literal"),
                            .most = tokenizer_field(L, i, "most", -1),
                            .length = tokenizer_field(L, i, "length", -1),
                            .cut = (jfl_side)tokenizer_field(L, i, "cut", 0),
                            .pad = (jfl_side)tokenizer_field(L, i, "pad", 0) };
}

/* tokenizer(path, who), tokenizer_parse(json, who) */
JF_LUA(tokenizer)
{
  const char *path = jf_need_string(L, 1, "tokenizer", "path");
  const char *who = jf_need_string(L, 2, "tokenizer", "who");
  jf_holder *h = jf_push_holder(L, drop_tokenizer);
  return jf_give_held(L, h, jfl_tokenizer_read(path, &h->tokenizer), who);
}

JF_LUA(tokenizer_parse)
{
  const jfl_text json = tokenizer_need_text(L, 1, "json");
  const char *who = jf_need_string(L, 2, "tokenizer", "who");
  jf_holder *h = jf_push_holder(L, drop_tokenizer);
  return jf_give_held(L, h, jfl_tokenizer_parse(json.s, json.n, &h->tokenizer), who);
}

/* tokenizer_train(texts, { size =, least =, pattern =, special = {...} }, who) */
JF_LUA(tokenizer_train)
{
  const char *who = jf_need_string(L, 3, "tokenizer", "who");
  jfl_bpe_spec spec = { .size = (int32_t)tokenizer_field(L, 2, "size", 0),
                        .least = tokenizer_field(L, 2, "least", 0) };
  int n;
  lua_settop(L, 3);
  lua_getfield(L, 2, "pattern");
  if (!lua_isnil(L, -1)) spec.pattern = jf_need_string(L, -1, "tokenizer", "pattern");
  lua_getfield(L, 2, "special");
  spec.special = tokenizer_need_texts(L, lua_gettop(L), "special", &spec.n_special);
  const jfl_text *texts = tokenizer_need_texts(L, 1, "texts", &n);
  jf_holder *h = jf_push_holder(L, drop_tokenizer);
  return jf_give_held(L, h, jfl_tokenizer_train(texts, n, &spec, &h->tokenizer), who);
}

/* ---- texts to numbers ---- */

/* Sets a list of what each token has to a field of the table on top. */
static void tokenizer_set_list(lua_State *L, const char *name, const jfl_token *v, int64_t n,
                               double (*get)(const jfl_token *))
{
  lua_createtable(L, (int)n, 0);
  for (int64_t i = 0; i < n; i++) {
    lua_pushnumber(L, get(&v[i]));
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_setfield(L, -2, name);
}

static double token_id(const jfl_token *t) { return t->id; }
static double token_type(const jfl_token *t) { return t->type; }
static double token_mask(const jfl_token *t) { return t->mask; }
static double token_special(const jfl_token *t) { return t->special; }
static double token_first(const jfl_token *t) { return (double)t->from + (t->sequence >= 0); }
static double token_last(const jfl_token *t) { return (double)t->to; }
static double token_text(const jfl_token *t) { return t->sequence + 1; }

/* tokenizer_encode(tokenizer, text, pair or nil, spec, whole, who) -> a table with the list ids
   and, if whole is set, with types, mask, special, first and last (bytes of the text, from 1), text
   (1 or 2; 0: none) */
JF_LUA(tokenizer_encode)
{
  jfl_tokenizer *t = need_tokenizer(L);
  const jfl_text text = tokenizer_need_text(L, 2, "text");
  const int has_pair = !lua_isnil(L, 3), whole = lua_toboolean(L, 5);
  const jfl_text pair = has_pair ? tokenizer_need_text(L, 3, "pair") : text;
  const jfl_encode_spec spec = tokenizer_need_spec(L, 4);
  const char *who = jf_need_string(L, 6, "tokenizer", "who");
  const jfl_token *v = NULL;
  jf_holder *h = jf_push_holder(L, drop_encoding);
  jf_give_held(L, h, jfl_tokenizer_encode(t, &text, has_pair ? &pair : NULL, &spec, &h->encoding),
               who);
  const int64_t n = jfl_encoding_tokens(h->encoding, &v);
  lua_newtable(L);
  tokenizer_set_list(L, "ids", v, n, token_id);
  if (whole) {
    tokenizer_set_list(L, "types", v, n, token_type);
    tokenizer_set_list(L, "mask", v, n, token_mask);
    tokenizer_set_list(L, "special", v, n, token_special);
    tokenizer_set_list(L, "first", v, n, token_first);
    tokenizer_set_list(L, "last", v, n, token_last);
    tokenizer_set_list(L, "text", v, n, token_text);
  }
  jf_drop_held(h);
  return 1;
}

/* tokenizer_batch(tokenizer, texts, pairs or nil, spec, who) -> ids, mask, types */
JF_LUA(tokenizer_batch)
{
  jfl_tokenizer *t = need_tokenizer(L);
  const jfl_encode_spec spec = tokenizer_need_spec(L, 4);
  const char *who = jf_need_string(L, 5, "tokenizer", "who");
  const int has_pairs = !lua_isnil(L, 3);
  int n, n_pair;
  const jfl_text *texts = tokenizer_need_texts(L, 2, "texts", &n);
  const jfl_text *pairs = has_pairs ? tokenizer_need_texts(L, 3, "pairs", &n_pair) : NULL;
  if (has_pairs && n_pair != n)
    jf_raise(L, "%s: pairs must be as many as texts, got %d for %d", who, n_pair, n);
  jf_larray *out[3];
  for (int i = 0; i < 3; i++) out[i] = jf_push_array(L);
  jfl_batch b;
  jf_check_for(L, jfl_tokenizer_batch(t, texts, pairs, n, &spec, &b), who);
  jf_set_array(out[0], b.ids);
  jf_set_array(out[1], b.mask);
  jf_set_array(out[2], b.types);
  for (int i = 0; i < 3; i++) jf_account(L, out[i]);
  return 3;
}

/* ---- numbers to texts ---- */

/* tokenizer_decode(tokenizer, ids, skips, who) */
JF_LUA(tokenizer_decode)
{
  jfl_tokenizer *t = need_tokenizer(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  const int skips = lua_toboolean(L, 3);
  const char *who = jf_need_string(L, 4, "tokenizer", "who");
  const size_t n = lua_objlen(L, 2);
  if (n > MOST_TEXTS) jf_raise(L, "%s: ids must be at most %d", who, (int)MOST_TEXTS);
  int32_t *ids = lua_newuserdata(L, (n + !n) * sizeof *ids);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 2, (int)i + 1);
    ids[i] = (int32_t)jf_need_whole(L, -1, who, "an id", 0, 0x1p31 - 1);
    lua_pop(L, 1);
  }
  size_t size;
  jf_holder *h = jf_push_holder(L, jf_drop_text);
  jf_give_held(L, h, jfl_tokenizer_decode(t, ids, (int64_t)n, skips, &h->text, &size), who);
  lua_pushlstring(L, h->text, size);
  jf_drop_held(h);
  return 1;
}

static int tokenizer_push(lua_State *L, jfl_text t)
{
  if (t.s) lua_pushlstring(L, t.s, t.n);
  else lua_pushnil(L);
  return 1;
}

/* tokenizer_token(tokenizer, id): its text or nil; tokenizer_id(tokenizer, text): its id or nil */
JF_LUA(tokenizer_token)
{
  const jfl_tokenizer *t = need_tokenizer(L);
  const int32_t id = (int32_t)jf_need_whole(L, 2, "tokenizer", "id", 0, 0x1p31 - 1);
  jfl_text text;
  jf_check(L, jfl_tokenizer_token(t, id, &text.s, &text.n));
  return tokenizer_push(L, text);
}

JF_LUA(tokenizer_id)
{
  const jfl_tokenizer *t = need_tokenizer(L);
  const jfl_text token = tokenizer_need_text(L, 2, "token");
  const int32_t id = jfl_tokenizer_id(t, token.s, token.n);
  if (id < 0) lua_pushnil(L);
  else lua_pushnumber(L, id);
  return 1;
}

JF_LUA(tokenizer_size)
{
  lua_pushnumber(L, jfl_tokenizer_size(need_tokenizer(L)));
  return 1;
}

/* tokenizer_json(tokenizer): the text of its file */
JF_LUA(tokenizer_json)
{
  jfl_text text;
  jf_check(L, jfl_tokenizer_json(need_tokenizer(L), &text.s, &text.n));
  return tokenizer_push(L, text);
}
