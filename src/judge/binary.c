/*
 * Facts of a binary, from its disassembly: what the innermost loops are made of. An innermost loop
 * is the code between a jump back and its target when no other jump back lies in between. And the
 * name of a binary: the hash of what is loaded of it.
 *
 * The object was made from what a kernel's author wrote: it may be anything.
 */
#include "judge/binary.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/private.h"
#include "os/os.h"

struct line { /* an instruction */
    uint64_t address;
    const char *word, *rest, *end;
};

struct code {
    struct arena arena;
    struct lines VECTOR(struct line) lines;
};

static bool starts_with(const char *text, const char *end, const char *start)
{
    size_t length = strlen(start);
    return (size_t)(end - text) >= length && memcmp(text, start, length) == 0;
}

static bool mentions(const struct line *line, const char *what)
{
    size_t length = strlen(what);
    for (const char *at = line->rest; at + length <= line->end; at++)
        if (memcmp(at, what, length) == 0)
            return true;
    return false;
}

/* "    1139:\tvmovups (%rax),%zmm0" */
static bool read_instruction(const char *text, const char *end, struct line *line)
{
    const char *at = text;
    while (at < end && *at == ' ')
        at++;
    char *after;
    line->address = strtoull(at, &after, 16);
    if (after == at || after >= end || *after != ':')
        return false;
    for (at = after + 1; at < end && (*at == '\t' || *at == ' '); at++)
        ;
    line->word = at;
    while (at < end && *at != ' ' && *at != '\t')
        at++;
    line->rest = at;
    line->end = end;
    return line->word < at;
}

/* The place a jump that depends on something goes to, or 0. Loops end in such a jump; one that does
 * not comes back from what is rarely done. */
static uint64_t jump_target(const struct line *line)
{
    if (*line->word != 'j' || starts_with(line->word, line->rest, "jmp"))
        return 0;
    const char *at = line->rest;
    while (at < line->end && *at == ' ')
        at++;
    return at < line->end && *at != '*' ? strtoull(at, NULL, 16) : 0;
}

static bool is_vector(const struct line *line)
{
    return mentions(line, "%zmm") || mentions(line, "%ymm") || mentions(line, "%xmm");
}

/* Ends in "ss" or "sd": one element only, whatever registers it names. */
static bool is_scalar_float(const struct line *line)
{
    return is_vector(line) && line->rest - line->word >= 4 && line->rest[-2] == 's' &&
           (line->rest[-1] == 's' || line->rest[-1] == 'd');
}

static void count_instruction(const struct line *line, struct binary_facts *facts)
{
    const char *word = line->word, *end = line->rest;
    bool moves = starts_with(word, end, "vmov") || starts_with(word, end, "mov");
    bool on_stack = mentions(line, "(%rsp") || mentions(line, "(%rbp");
    if (starts_with(word, end, "call"))
        facts->calls++;
    if (!is_vector(line))
        return;
    if (is_scalar_float(line)) {
        facts->scalar++;
    } else {
        int bits = mentions(line, "%zmm") ? 512 : mentions(line, "%ymm") ? 256 : 128;
        facts->vector++;
        if (bits > facts->vector_bits)
            facts->vector_bits = bits;
        if (moves && on_stack)
            facts->spills++;
    }
    if (starts_with(word, end, "vfmadd") || starts_with(word, end, "vfnmadd") ||
        starts_with(word, end, "vfmsub") || starts_with(word, end, "vdpb"))
        facts->fused++;
    if (starts_with(word, end, "vgather") || starts_with(word, end, "vpgather"))
        facts->gathers++;
    if (starts_with(word, end, "vdiv") || starts_with(word, end, "div") ||
        starts_with(word, end, "vsqrt") || starts_with(word, end, "sqrt"))
        facts->divisions++;
}

/* The number of the line at this address, at or before `from`; -1: none. */
static long find_line(const struct code *code, long from, uint64_t address)
{
    long low = 0, high = from;
    while (low <= high) {
        long middle = low + (high - low) / 2;
        uint64_t at = code->lines.at[middle].address;
        if (at == address)
            return middle;
        if (at < address)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

static void count_loops(const struct code *code, struct binary_facts *facts)
{
    long last_start = -1; /* of the loop that ended last: an outer one contains it */
    for (long i = 0; i < (long)code->lines.count; i++) {
        uint64_t target = jump_target(&code->lines.at[i]);
        if (target == 0 || target > code->lines.at[i].address)
            continue;
        long start = find_line(code, i, target);
        if (start < 0 || start <= last_start)
            continue;
        last_start = start;
        facts->loops++;
        for (long k = start; k <= i; k++)
            count_instruction(&code->lines.at[k], facts);
    }
}

bool binary_facts_read(const char *text, size_t length, struct binary_facts *facts)
{
    struct code code = {0};
    const char *end = text + length;
    struct binary_facts empty = {0};
    memcpy(empty.hash, facts->hash, sizeof empty.hash);
    *facts = empty;
    for (const char *at = text; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct line line;
        stop = stop ? stop : end;
        if (read_instruction(at, stop, &line)) {
            /* Addresses only go up; a new section starts anew. */
            if (code.lines.count && line.address < code.lines.at[code.lines.count - 1].address) {
                count_loops(&code, facts);
                code.lines.count = 0;
            }
            vector_push(&code.arena, &code.lines, line);
            facts->instructions++;
        }
        at = stop + (stop < end);
    }
    if (code.lines.count) {
        facts->code_bytes +=
            (int64_t)(code.lines.at[code.lines.count - 1].address - code.lines.at[0].address);
        count_loops(&code, facts);
    }
    arena_release(&code.arena);
    facts->read = facts->instructions > 0;
    return facts->read;
}

/* ---- the name ---- */

static bool lies_inside(uint64_t start, uint64_t size, size_t length)
{
    return start <= length && size <= length - start;
}

bool binary_hash(const char *bytes, size_t length, char hash[65])
{
    Elf64_Ehdr head;
    struct sha256 sha;
    unsigned char digest[32];
    int loaded = 0;
    if (length < sizeof head)
        return false;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_shentsize != sizeof(Elf64_Shdr) ||
        !lies_inside(head.e_shoff, (uint64_t)head.e_shnum * sizeof(Elf64_Shdr), length))
        return false;
    sha256_start(&sha);
    for (int i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, bytes + head.e_shoff + (size_t)i * sizeof section, sizeof section);
        /* notes carry a hash of the file, places in the source and all */
        if (!(section.sh_flags & SHF_ALLOC) || section.sh_type == SHT_NOTE)
            continue;
        uint64_t about[4] = {section.sh_type, section.sh_flags, section.sh_addr, section.sh_size};
        sha256_add(&sha, about, sizeof about);
        if (section.sh_type == SHT_NOBITS)
            continue;
        if (!lies_inside(section.sh_offset, section.sh_size, length))
            return false;
        sha256_add(&sha, bytes + section.sh_offset, section.sh_size);
        loaded++;
    }
    sha256_finish(&sha, digest);
    for (int i = 0; i < 32; i++)
        snprintf(hash + 2 * i, 3, "%02x", digest[i]);
    return loaded > 0;
}

/* ---- both ---- */

static void disassemble(struct arena *arena, const char *library, const char *folder,
                        struct binary_facts *facts)
{
    enum { SECONDS = 10 };
    char *tool = process_find(arena, "objdump");
    if (!tool) {
        facts->unread = "objdump (binutils) is not installed";
        return;
    }
    const char *const arguments[] = {tool,    "-d", "--no-show-raw-insn", "-j", ".text",
                                     library, NULL};
    struct tool_run run;
    tool_run_most(arena, arguments, folder, SECONDS, BINARY_TEXT_BYTES, &run);
    if (!run.started || !run.in_time || run.status != 0)
        facts->unread = "objdump could not read it";
    else if (run.more)
        facts->unread = "its disassembly is too long";
    else if (!binary_facts_read(run.output, run.length, facts))
        facts->unread = "its instructions are not of x86-64";
}

void binary_inspect(const char *library, const char *folder, struct binary_facts *facts)
{
    struct arena scratch = {0};
    struct error ignored;
    size_t length;
    *facts = (struct binary_facts){0};
    const char *bytes = file_read(&scratch, library, BINARY_OBJECT_BYTES, &length, &ignored);
    if (!bytes || !binary_hash(bytes, length, facts->hash))
        facts->hash[0] = 0;
    disassemble(&scratch, library, folder, facts);
    arena_release(&scratch);
}
