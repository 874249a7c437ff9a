/* Memory kept aside for libraries that end the process where they get none: what they allocate by
   is replaced, in their tables of imports, by functions that give from here what the system
   refuses. */
#include "system/system.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Blocks of the C library's heap, so that whoever frees one may do it as ever; and pages, for code
   that is compiled at run time. */
enum { CLASSES = 6, MOST_BLOCKS = 192, PAGES = 16, PAGES_SIZE = 256 << 10, ALIGN = 64 };
static const struct { size_t size; int n; } class_of[CLASSES] = {
  { 256, MOST_BLOCKS }, { 1 << 10, 128 }, { 4 << 10, 96 }, { 16 << 10, 32 }, { 64 << 10, 16 },
  { 512 << 10, 4 }
};
static struct {
  pthread_mutex_t filling;
  _Atomic(void *) block[CLASSES][MOST_BLOCKS], pages[PAGES];
  atomic_int given;                        /* how many, since it was last filled */
} reserve = { .filling = PTHREAD_MUTEX_INITIALIZER, .given = 1 };

static void *reserve_take(_Atomic(void *) *from, int n)
{
  for (int i = 0; i < n; i++) {
    void *p = atomic_load_explicit(&from[i], memory_order_relaxed);
    if (!p || !(p = atomic_exchange(&from[i], NULL))) continue;
    atomic_fetch_add(&reserve.given, 1);
    return p;
  }
  return NULL;
}

static void *reserve_block(size_t n)
{
  for (int i = 0; i < CLASSES; i++) {
    void *p = n <= class_of[i].size ? reserve_take(reserve.block[i], class_of[i].n) : NULL;
    if (p) return p;
  }
  return NULL;
}

/* ---- what libraries call ---- */

static void *reserve_malloc(size_t n)
{
  void *p = malloc(n);
  return p ? p : reserve_block(n);
}

static void *reserve_calloc(size_t n, size_t size)
{
  void *p = calloc(n, size);
  if (p || (size && n > SIZE_MAX / size)) return p;
  p = reserve_block(n * size);
  return p ? memset(p, 0, n * size) : NULL;
}

/* How large the old block is nobody tells: what a library makes larger it may be refused. */
static void *reserve_realloc(void *old, size_t n)
{
  return old ? realloc(old, n) : reserve_malloc(n);
}

static int reserve_memalign(void **out, size_t align, size_t n)
{
  const int e = posix_memalign(out, align, n);
  void *p = e == ENOMEM && align <= ALIGN ? reserve_block(n) : NULL;
  if (p) *out = p;
  return p ? 0 : e;
}

static void *reserve_aligned(size_t align, size_t n)
{
  void *p = aligned_alloc(align, n);
  return p || align > ALIGN ? p : reserve_block(n);
}

static void *reserve_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
  void *p = mmap(at, n, prot, flags, fd, offset);
  if (p != MAP_FAILED || !(flags & MAP_ANONYMOUS) || at || n > PAGES_SIZE) return p;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (n + page - 1) & ~(page - 1);
  char *q = reserve_take(reserve.pages, PAGES);
  if (!q) return MAP_FAILED;
  if (used < PAGES_SIZE) munmap(q + used, PAGES_SIZE - used);
  if (prot & PROT_EXEC && mprotect(q, used, prot)) return munmap(q, used), MAP_FAILED;
  return q;
}

/* ---- tables of imports ---- */

#if defined __x86_64__
static int reserve_is_import(size_t type) { return type == R_X86_64_JUMP_SLOT
                                                || type == R_X86_64_GLOB_DAT; }
#elif defined __aarch64__
static int reserve_is_import(size_t type) { return type == R_AARCH64_JUMP_SLOT
                                                || type == R_AARCH64_GLOB_DAT; }
#else
static int reserve_is_import(size_t type) { (void)type; return 0; }
#endif

typedef void reserve_function(void);
#define REPLACE(name, fn) { name, (reserve_function *)fn }
static const struct { const char *name; reserve_function *fn; } replaced[] = {
  REPLACE("malloc", reserve_malloc), REPLACE("calloc", reserve_calloc),
  REPLACE("realloc", reserve_realloc), REPLACE("posix_memalign", reserve_memalign),
  REPLACE("aligned_alloc", reserve_aligned), REPLACE("memalign", reserve_aligned),
  REPLACE("mmap", reserve_mmap),
};
#undef REPLACE

/* What a loaded library has been given by the loader: tables, and the part of them that was made
   read-only then. */
typedef struct reserve_library {
  ElfW(Addr) base, fixed, fixed_end;
  const ElfW(Sym) *symbol;
  const char *text;
} reserve_library;

/* An address in the dynamic section: some C libraries have added the base to it, some have not. */
static const void *reserve_at(const reserve_library *l, ElfW(Addr) at)
{
  return (const void *)(at < l->base ? l->base + at : at);
}

static int reserve_find_fixed(struct dl_phdr_info *info, size_t size, void *library)
{
  reserve_library *l = library;
  (void)size;
  if (info->dlpi_addr != l->base) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_GNU_RELRO) continue;
    l->fixed = l->base + p->p_vaddr;
    l->fixed_end = l->fixed + p->p_memsz;
  }
  return 1;
}

static void reserve_set(const reserve_library *l, ElfW(Addr) slot, reserve_function *fn)
{
  const ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
  void *at = (void *)(slot & ~(page - 1));
  const int fixed = slot >= l->fixed && slot < l->fixed_end;
  if (fixed && mprotect(at, page, PROT_READ | PROT_WRITE)) return;
  __atomic_store_n((reserve_function **)slot, fn, __ATOMIC_RELEASE);
  if (fixed) mprotect(at, page, PROT_READ);
}

static void reserve_replace(const reserve_library *l, const ElfW(Rela) *r, size_t n)
{
  for (const ElfW(Rela) *end = r + n; r < end; r++) {
    if (!reserve_is_import(ELF64_R_TYPE(r->r_info))) continue;
    const char *name = l->text + l->symbol[ELF64_R_SYM(r->r_info)].st_name;
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
      if (!strcmp(name, replaced[i].name)) reserve_set(l, l->base + r->r_offset, replaced[i].fn);
  }
}

void jf_reserve_for(void *so)
{
  struct link_map *map;
  size_t size = 0, plt_size = 0;
  const void *rela = NULL, *plt = NULL;
  if (!so || dlinfo(so, RTLD_DI_LINKMAP, &map)) return;
  reserve_library l = { .base = map->l_addr };
  for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
    if (d->d_tag == DT_SYMTAB) l.symbol = reserve_at(&l, d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) l.text = reserve_at(&l, d->d_un.d_ptr);
    if (d->d_tag == DT_RELA) rela = reserve_at(&l, d->d_un.d_ptr);
    if (d->d_tag == DT_JMPREL) plt = reserve_at(&l, d->d_un.d_ptr);
    if (d->d_tag == DT_RELASZ) size = d->d_un.d_val;
    if (d->d_tag == DT_PLTRELSZ) plt_size = d->d_un.d_val;
  }
  dl_iterate_phdr(reserve_find_fixed, &l);
  if (!l.symbol || !l.text) return;
  if (rela) reserve_replace(&l, rela, size / sizeof(ElfW(Rela)));
  if (plt) reserve_replace(&l, plt, plt_size / sizeof(ElfW(Rela)));
}

/* ---- filling ---- */

static int reserve_put(_Atomic(void *) *at, void *p)
{
  if (p) *at = p;
  return p != NULL;
}

static void *reserve_aligned_block(size_t n)
{
  void *p = NULL;
  return posix_memalign(&p, ALIGN, n) ? NULL : p;
}

static int reserve_fill_all(void)
{
  int whole = 1;
  for (int i = 0; i < CLASSES; i++)
    for (int j = 0; j < class_of[i].n && whole; j++)
      if (!reserve.block[i][j])
        whole = reserve_put(&reserve.block[i][j], reserve_aligned_block(class_of[i].size));
  for (int i = 0; i < PAGES && whole; i++) {
    if (reserve.pages[i]) continue;
    void *p = mmap(NULL, PAGES_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    whole = reserve_put(&reserve.pages[i], p == MAP_FAILED ? NULL : p);
  }
  return whole;
}

static void reserve_keep_at_forks(void)
{
  static jf_fork_lock lock;
  jf_fork_lock_add(&lock, &reserve.filling);
}

int jf_reserve_fill(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!atomic_load_explicit(&reserve.given, memory_order_relaxed)) return 1;
  pthread_once(&once, reserve_keep_at_forks);
  pthread_mutex_lock(&reserve.filling);
  atomic_store(&reserve.given, 0);
  const int whole = reserve_fill_all();
  if (!whole) atomic_store(&reserve.given, 1);
  pthread_mutex_unlock(&reserve.filling);
  return whole;
}
