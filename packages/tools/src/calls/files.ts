/** The file tools. Paths stay under the work directory, sizes are limited, and every change reports its diff. */
import { ARTIFACTS } from '@sluice-internal/kernel/catalog';
import type { Json } from '@sluice-internal/kernel/expr';
import { listBeneath, readBeneath, removeBeneath, segmentsOf, writeBeneath } from '@sluice-internal/platform';
import { fail } from '@sluice-internal/engine/ports';
import { decode, wholeCharacters } from './output.ts';
import { changeOnce, sha256, type Plan } from './state.ts';
import type { ToolCall, ToolKind, ToolOptions } from './tool.ts';

const READ_MAX = 256 * 1024;
const WRITE_MAX = 4 * 1024 * 1024;
const LISTED_MAX = 1_000;
const DIFF_LINES_MAX = 40;
const DIFF_LINE_LENGTH_MAX = 200;

export function fileTools({ files = {} }: Pick<ToolOptions, 'files'>): ToolKind {
  const { readMax = READ_MAX, writeMax = WRITE_MAX } = files;
  return {
    builtins: {
      read_file: (call) => readFile(call, readMax),
      write_file: (call) => writeFile(call, writeMax),
      patch_file: (call) => patchFile(call, writeMax),
      delete_file: deleteFile,
      list_directory: listDirectory,
    },
  };
}

async function readFile(call: ToolCall, max: number): Promise<Json> {
  const path = pathOf(call);
  const file = await readBeneath(call.workDir, path, max);
  if (file === null) throw missing(path);
  const truncated = file.size > file.data.length;
  const { text, lossy } = decode(truncated ? wholeCharacters(file.data) : file.data);
  return { path, content: text, bytes: file.size, sha256: sha256(file.data), truncated, lossy };
}

function writeFile(call: ToolCall, max: number): Promise<Json> {
  const path = writablePath(call);
  const data = Buffer.from(call.args['content'] as string);
  checkSize(path, data, max);
  return changeOnce(call, path, async () => {
    const before = await readBeneath(call.workDir, path, max);
    return replacement(call, path, before?.data ?? null, data);
  });
}

function patchFile(call: ToolCall, max: number): Promise<Json> {
  const path = writablePath(call);
  const { find, replace } = call.args as { find: string; replace: string };
  return changeOnce(call, path, async () => {
    const before = await readBeneath(call.workDir, path, max + 1);
    if (before === null) throw missing(path);
    if (before.size > max) throw tooLarge(path, max);
    const { text, lossy } = decode(before.data);
    if (lossy) throw fail('semantic', 'EncodingError', `\`${path}\` is not UTF-8 text and cannot be patched`);
    const at = text.indexOf(find);
    if (at === -1) throw fail('semantic', 'PatchError', `\`find\` does not occur in \`${path}\``);
    if (text.includes(find, at + 1))
      throw fail('semantic', 'PatchError', `\`find\` occurs more than once in \`${path}\`; make it longer`);
    const data = Buffer.from(text.slice(0, at) + replace + text.slice(at + find.length));
    checkSize(path, data, max);
    return replacement(call, path, before.data, data);
  });
}

function deleteFile(call: ToolCall): Promise<Json> {
  const path = writablePath(call);
  return changeOnce(call, path, async () => {
    if (!(await exists(call.workDir, path))) throw missing(path);
    return { after: null, result: { path, deleted: true }, apply: () => removeBeneath(call.workDir, path) };
  });
}

async function listDirectory(call: ToolCall): Promise<Json> {
  const path = pathOf(call) || '.';
  const entries = await listBeneath(call.workDir, path);
  if (entries === null) {
    if (path === '.') return { path, entries: [], truncated: false };
    throw missing(path);
  }
  return {
    path,
    entries: entries.slice(0, LISTED_MAX).map(({ name, type }) => ({ name, type })),
    truncated: entries.length > LISTED_MAX,
  };
}

/** Replaces the content of a file, and reports the difference. */
function replacement(call: ToolCall, path: string, before: Buffer | null, data: Buffer): Plan {
  const after = sha256(data);
  const result = {
    path,
    bytes: data.length,
    sha256: after,
    created: before === null,
    before: before === null ? null : sha256(before),
    ...diffOf(before === null ? '' : decode(before).text, decode(data).text),
  };
  return { after, result, apply: () => writeBeneath(call.workDir, path, data) };
}

async function exists(workDir: string, path: string): Promise<boolean> {
  const segments = segmentsOf(path);
  const name = segments.pop();
  const entries = await listBeneath(workDir, segments.join('/'));
  return entries?.some((entry) => entry.name === name) ?? false;
}

function pathOf({ args }: ToolCall): string {
  return segmentsOf((args['path'] as string | undefined) ?? '.').join('/');
}

/** Refuses the folder in which the tools keep their own files. */
function writablePath(call: ToolCall): string {
  const path = pathOf(call);
  if (path === ARTIFACTS.state || path.toLowerCase().startsWith(`${ARTIFACTS.state}/`)) {
    throw fail('policy', 'PathError', `\`${path}\` belongs to the tools and cannot be changed`);
  }
  return path;
}

function checkSize(path: string, data: Buffer, max: number): void {
  if (data.length > max) throw tooLarge(path, max);
}

function tooLarge(path: string, max: number): Error {
  return fail('semantic', 'TooLargeError', `\`${path}\` would be larger than ${max} bytes`);
}

function missing(path: string): Error {
  return fail('semantic', 'NotFoundError', `\`${path}\` does not exist`);
}

/** The lines that differ, with line numbers. Long diffs are cut. */
function diffOf(before: string, after: string): { added: number; removed: number; diff: string } {
  if (before === after) return { added: 0, removed: 0, diff: '' };
  const old = linesOf(before);
  const now = linesOf(after);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  )
    end += 1;
  const gone = old.slice(start, old.length - end);
  const come = now.slice(start, now.length - end);
  const head = `@@ -${start + 1},${gone.length} +${start + 1},${come.length} @@`;
  return {
    added: come.length,
    removed: gone.length,
    diff: [head, ...shown(gone, '-'), ...shown(come, '+')].join('\n'),
  };
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function shown(lines: readonly string[], sign: string): string[] {
  const kept = lines
    .slice(0, DIFF_LINES_MAX)
    .map((line) => `${sign}${line.length > DIFF_LINE_LENGTH_MAX ? `${line.slice(0, DIFF_LINE_LENGTH_MAX)}…` : line}`);
  return lines.length > DIFF_LINES_MAX ? [...kept, `${sign}… ${lines.length - DIFF_LINES_MAX} more lines`] : kept;
}
