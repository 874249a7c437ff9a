// Misuse of jfl.h by a C++ program, on several threads: objects used and freed again after they were
// freed, objects of other kinds, functions of the host that throw. Each is an error with a message,
// and what is right still works.
//   misuse
#include <jfl.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

enum { THREADS = 4, ROUNDS = 300 };

std::atomic<int> wrong{0};

void check(bool ok, const char *what)
{
  if (ok) return;
  wrong++;
  std::fprintf(stderr, "misuse: %s: %s\n", what, jfl_errmsg());
}

bool says(const char *text) { return std::strstr(jfl_errmsg(), text) != nullptr; }

template <class T, class U> T *other(U *p) { return reinterpret_cast<T *>(p); }

jfl_script_value number(double n)
{
  jfl_script_value v{};
  v.kind = JFL_SCRIPT_NUMBER;
  v.number = n;
  return v;
}

jfl_status throws(void *, const jfl_script_value *, int, jfl_script_value *)
{
  throw std::runtime_error("thrown on purpose");
}

jfl_status run(jfl_script *s, const std::string &text)
{
  return jfl_script_run(s, text.data(), text.size(), "text");
}

// A script that is freed twice and used in between, and whose function throws.
void misuse_script()
{
  jfl_script *s = nullptr;
  check(!jfl_script_new(nullptr, &s), "a script");
  check(!jfl_script_define(s, "throws", throws, nullptr), "a function");
  check(run(s, "throws()") == JFL_ESCRIPT, "what is thrown is an error");
  check(!run(s, "assert(not pcall(throws)) x = 1"), "a script goes on");
  jfl_script_value two = number(2);
  check(jfl_session_set(other<jfl_session>(s), nullptr) && says("s must be a session"),
        "a script for a session");
  check(!jfl_script_set(s, "x", &two) && !run(s, "assert(x == 2)"), "what is right");
  jfl_script_free(s);
  check(run(s, "x = 3") && says("script"), "a script that was freed");
  jfl_script_free(s);
  check(says("script"), "a script that is freed twice");
}

// An array on which nothing else was made since it was freed.
void misuse_array()
{
  const jfl_shape shape = { 1, { 4 } };
  jfl_array *a = nullptr;
  check(!jfl_array_new(JFL_F32, &shape, &a), "an array");
  check(jfl_run(other<jfl_plan>(a), nullptr, nullptr) && says("must be a plan"),
        "an array for a plan");
  check(jfl_run(nullptr, nullptr, nullptr) && says("NULL"), "NULL for a plan");
  jfl_array_unref(a);
}

// A script that threads free at once which did not make it, and one that its own thread frees then.
void free_at_once(jfl_script *s, std::atomic<int> *told)
{
  jfl_script_free(s);
  if (says("belongs to the thread that made it")) ++*told;
}

void misuse_together()
{
  jfl_script *s = nullptr;
  std::atomic<int> told{0};
  std::vector<std::thread> threads;
  check(!jfl_script_new(nullptr, &s), "a script");
  for (int i = 0; i < THREADS; i++) threads.emplace_back(free_at_once, s, &told);
  for (auto &thread : threads) thread.join();
  check(told == THREADS, "a script that other threads free");
  check(!run(s, "x = 1"), "it goes on");
  jfl_script_free(s);
}

}  // namespace

int main()
{
  std::vector<std::thread> threads;
  for (int i = 0; i < THREADS; i++)
    threads.emplace_back([] {
      for (int k = 0; k < ROUNDS; k++) {
        misuse_array();
        if (k % 50 == 0) misuse_script();
      }
    });
  for (auto &thread : threads) thread.join();
  for (int k = 0; k < 20; k++) misuse_together();
  if (!wrong) std::puts("well");
  return wrong != 0;
}
