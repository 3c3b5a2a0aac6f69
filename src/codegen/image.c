/* A relocatable ELF64 object -> an image: its code and constants, laid out flat, with every reference
 * between them resolved relative to the place that makes it. Anything else is refused by name: a
 * symbol that is not defined here, an absolute address. */
#include "codegen/emit.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

typedef struct {
    const unsigned char *object;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    const char *section_names;
    const Elf64_Sym *symbols;
    uint32_t num_symbols;
    const char *symbol_names;
    uint64_t *place; /* by section: offset in the image, or NOWHERE */
    unsigned char *bytes;
    uint64_t size;
    bool is_aarch64;
} Linker;

#define NOWHERE UINT64_MAX

static const char *section_name(const Linker *l, uint32_t k) {
    return l->section_names + l->sections[k].sh_name;
}

/* Unwind tables are of no use: nothing unwinds through a kernel. */
static bool is_wanted(const Linker *l, uint32_t k) {
    const Elf64_Shdr *s = &l->sections[k];
    return s->sh_flags & SHF_ALLOC && s->sh_type != SHT_NOTE &&
           strcmp(section_name(l, k), ".eh_frame") != 0;
}

static Status lay_out(Linker *l) {
    for (uint32_t k = 0; k < l->header->e_shnum; k++) {
        const Elf64_Shdr *s = &l->sections[k];
        l->place[k] = NOWHERE;
        if (!is_wanted(l, k)) continue;
        if (s->sh_flags & SHF_WRITE && s->sh_size)
            return err_set(ST_BUG, "image: section %s is writable", section_name(l, k));
        uint64_t align = s->sh_addralign ? s->sh_addralign : 1;
        if (align > PAGE)
            return err_set(ST_BUG, "image: section %s is aligned beyond a page",
                           section_name(l, k));
        l->place[k] = (l->size + align - 1) / align * align;
        l->size = l->place[k] + s->sh_size;
    }
    return ST_OK;
}

static Status find_tables(Linker *l) {
    l->header = (const Elf64_Ehdr *)l->object;
    if (memcmp(l->header->e_ident, ELFMAG, SELFMAG) != 0 ||
        l->header->e_ident[EI_CLASS] != ELFCLASS64)
        return err_set(ST_UNSUPPORTED, "image: not an ELF64 object");
    l->sections = (const Elf64_Shdr *)(l->object + l->header->e_shoff);
    l->section_names = (const char *)(l->object + l->sections[l->header->e_shstrndx].sh_offset);
    for (uint32_t k = 0; k < l->header->e_shnum; k++) {
        const Elf64_Shdr *s = &l->sections[k];
        if (s->sh_type != SHT_SYMTAB) continue;
        l->symbols = (const Elf64_Sym *)(l->object + s->sh_offset);
        l->num_symbols = (uint32_t)(s->sh_size / sizeof(Elf64_Sym));
        l->symbol_names = (const char *)(l->object + l->sections[s->sh_link].sh_offset);
    }
    return l->symbols ? ST_OK : err_set(ST_BUG, "image: an object without symbols");
}

/* ---- relocations ---- */

typedef struct {
    unsigned char *at;
    int64_t to, from; /* image offsets of the target (addend included) and of the place */
} Fixup;

static int64_t page_of(int64_t at) { return at & ~(int64_t)(PAGE - 1); }

static bool put_relative(const Fixup *f, unsigned bytes) {
    int64_t distance = f->to - f->from;
    if (bytes == 4 && distance != (int32_t)distance) return false;
    memcpy(f->at, &distance, bytes); /* little endian, as the targets are */
    return true;
}

static bool fix_x86(uint32_t type, const Fixup *f) {
    if (type == R_X86_64_PC32 || type == R_X86_64_PLT32) return put_relative(f, 4);
    return type == R_X86_64_PC64 && put_relative(f, 8);
}

static void or_word(const Fixup *f, uint32_t bits) {
    uint32_t word;
    memcpy(&word, f->at, 4);
    word |= bits;
    memcpy(f->at, &word, 4);
}

/* The low 12 bits of an address, scaled by the access: images lie at page boundaries. */
static bool fix_low12(const Fixup *f, unsigned shift) {
    or_word(f, (uint32_t)((f->to & (PAGE - 1)) >> shift) << 10);
    return (f->to & ((1 << shift) - 1)) == 0;
}

static bool fix_branch(const Fixup *f) {
    int64_t words = (f->to - f->from) / 4;
    or_word(f, (uint32_t)words & 0x3ffffff);
    return words >= -(1 << 25) && words < 1 << 25;
}

static bool fix_page(const Fixup *f) {
    int64_t pages = (page_of(f->to) - page_of(f->from)) / PAGE;
    uint32_t bits = (uint32_t)pages;
    or_word(f, (bits & 3) << 29 | (bits >> 2 & 0x7ffff) << 5);
    return pages >= -(1 << 20) && pages < 1 << 20;
}

static bool fix_aarch64(uint32_t type, const Fixup *f) {
    switch (type) {
    case R_AARCH64_PREL32: return put_relative(f, 4);
    case R_AARCH64_PREL64: return put_relative(f, 8);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26: return fix_branch(f);
    case R_AARCH64_ADR_PREL_PG_HI21: return fix_page(f);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return fix_low12(f, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC: return fix_low12(f, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC: return fix_low12(f, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC: return fix_low12(f, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC: return fix_low12(f, 4);
    default: return false;
    }
}

static const char *symbol_name(const Linker *l, const Elf64_Sym *s) {
    bool is_section = ELF64_ST_TYPE(s->st_info) == STT_SECTION;
    return is_section ? section_name(l, s->st_shndx) : l->symbol_names + s->st_name;
}

static Status relocate(const Linker *l, const Elf64_Rela *r, uint64_t section) {
    const Elf64_Sym *s = &l->symbols[ELF64_R_SYM(r->r_info)];
    uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
    bool defined = s->st_shndx != SHN_UNDEF && s->st_shndx < l->header->e_shnum;
    if (!defined || l->place[s->st_shndx] == NOWHERE)
        return err_set(ST_BUG, "image: code refers to '%s', which is not in it", symbol_name(l, s));
    uint64_t from = section + r->r_offset, to = l->place[s->st_shndx] + s->st_value;
    Fixup f = {l->bytes + from, (int64_t)to + r->r_addend, (int64_t)from};
    bool ok = l->is_aarch64 ? fix_aarch64(type, &f) : fix_x86(type, &f);
    return ok ? ST_OK
              : err_set(ST_BUG, "image: relocation of type %u to '%s' cannot be resolved", type,
                        symbol_name(l, s));
}

static Status relocate_all(const Linker *l) {
    for (uint32_t k = 0; k < l->header->e_shnum; k++) {
        const Elf64_Shdr *s = &l->sections[k];
        if (s->sh_type != SHT_RELA || l->place[s->sh_info] == NOWHERE) continue;
        const Elf64_Rela *r = (const Elf64_Rela *)(l->object + s->sh_offset);
        for (uint64_t i = 0; i < s->sh_size / sizeof *r; i++) {
            Status st = relocate(l, &r[i], l->place[s->sh_info]);
            if (st) return st;
        }
    }
    return ST_OK;
}

/* ---- the image ---- */

static uint64_t find_function(const Linker *l, const char *name) {
    for (uint32_t i = 0; i < l->num_symbols; i++) {
        const Elf64_Sym *s = &l->symbols[i];
        bool here = s->st_shndx != SHN_UNDEF && s->st_shndx < l->header->e_shnum;
        if (here && !strcmp(l->symbol_names + s->st_name, name))
            return l->place[s->st_shndx] + s->st_value;
    }
    return NOWHERE;
}

static Status find_entries(const Linker *l, Image *out) {
    uint64_t nothing = find_function(l, entry_nothing);
    if (nothing == NOWHERE) return err_set(ST_BUG, "image: no entry '%s'", entry_nothing);
    for (int k = 0; k < NUM_ENTRIES; k++) {
        uint64_t at = find_function(l, entry_names[k]);
        out->entry[k] = at == NOWHERE ? nothing : at;
    }
    return ST_OK;
}

static Status link_image(Linker *l, Image *out) {
    l->bytes = calloc(1, l->size ? l->size : 1);
    if (!l->bytes)
        return err_set(ST_NOMEM, "out of memory: an image of %llu bytes",
                       (unsigned long long)l->size);
    for (uint32_t k = 0; k < l->header->e_shnum; k++)
        if (l->place[k] != NOWHERE && l->sections[k].sh_type != SHT_NOBITS)
            memcpy(l->bytes + l->place[k], l->object + l->sections[k].sh_offset,
                   l->sections[k].sh_size);
    Status st = relocate_all(l);
    return st ? st : find_entries(l, out);
}

Status image_make(const void *object, size_t size, bool is_aarch64, Image *out) {
    (void)size;
    Linker l = {.object = object, .is_aarch64 = is_aarch64};
    Image image = *out;
    Status st = find_tables(&l);
    if (st) return st;
    l.place = malloc(sizeof *l.place * (l.header->e_shnum + 1u));
    if (!l.place) return err_set(ST_NOMEM, "out of memory: an object's sections");
    st = lay_out(&l);
    if (!st) st = link_image(&l, &image);
    free(l.place);
    if (st) {
        free(l.bytes);
        return st;
    }
    image.bytes = l.bytes;
    image.size = l.size;
    *out = image;
    return ST_OK;
}
