// A C++ program with LuaJIT inside: each thread has a state of its own, errors of Lua pass as
// exceptions, and one state lives until static objects are destroyed.
//   program ROOT FOLDER
#include <lua.hpp>

#include <poll.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string root, folder;

int wait(lua_State *L)
{
  pollfd due = { static_cast<int>(lua_tointeger(L, 1)), POLLIN, 0 };
  if (poll(&due, 1, 300000) != 1) throw std::runtime_error("no callback came");
  return 0;
}

class State {
public:
  State() = default;
  State(const State &) = delete;
  State &operator=(const State &) = delete;
  ~State() { if (L) lua_close(L); }

  void open()
  {
    L = luaL_newstate();
    if (!L) throw std::runtime_error("no state");
    luaL_openlibs(L);
    lua_register(L, "wait", wait);
    run("package.path, package.cpath = '" + root + "/?.lua', '" + root + "/build/?.so'");
  }

  void run(const std::string &text)
  {
    if (!luaL_dostring(L, text.c_str())) return;
    const std::string why = lua_tostring(L, -1);
    lua_pop(L, 1);
    throw std::runtime_error(why);
  }

  void use(int number)
  {
    run("guest = require 'spec.hosts.guest'");
    run("guest.all('" + folder + "/saved" + std::to_string(number) + "', wait)");
  }

private:
  lua_State *L = nullptr;
};

State last;

// Whether an error of jfl comes as an exception, after which the state still works.
bool told(State &state)
{
  try {
    state.run("guest.train_job('wrong')");
  } catch (const std::runtime_error &e) {
    return std::string(e.what()).find("train") != std::string::npos;
  }
  return false;
}

}  // namespace

int main(int argc, char **argv)
{
  if (argc != 3) return 2;
  root = argv[1];
  folder = argv[2];
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(4);
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([i, &wrong] {
      try {
        State state;
        state.open();
        state.use(i);
        if (!told(state)) wrong[i] = "an error was not told";
        state.use(i);
      } catch (const std::exception &e) {
        wrong[i] = e.what();
      }
    });
  }
  for (auto &thread : threads) thread.join();
  for (const auto &why : wrong)
    if (!why.empty()) return std::fprintf(stderr, "program: %s\n", why.c_str()), 1;
  last.open();
  last.use(4);
  last.run("guest.submit(100)");
  std::puts("well");
}
