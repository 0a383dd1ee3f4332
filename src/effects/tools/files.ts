/** The file tools. Paths stay under the work directory, sizes are capped, and every change says what it changed. */
import { ARTIFACTS } from '../../catalog/validators.ts';
import type { Json } from '../../expr/json.ts';
import { listBeneath, readBeneath, removeBeneath, segmentsOf, writeBeneath } from '../safe-path.ts';
import type { ToolCall, ToolOptions, ToolWork } from './tool.ts';
import { decode, wholeCharacters } from './output.ts';
import { fail } from './tool.ts';
import { changeOnce, sha256 } from './state.ts';

const READ_MAX = 256 * 1024;
const WRITE_MAX = 4 * 1024 * 1024;
const LISTED_MAX = 1_000;

export function fileTools({ files = {} }: Pick<ToolOptions, 'files'>): { readonly [name: string]: ToolWork } {
  const { readMax = READ_MAX, writeMax = WRITE_MAX } = files;
  return {
    read_file: (call) => readFile(call, readMax),
    write_file: (call) => writeFile(call, writeMax),
    patch_file: (call) => patchFile(call, writeMax),
    delete_file: deleteFile,
    list_directory: listDirectory,
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
  const path = ownPath(call);
  const data = Buffer.from(call.args['content'] as string);
  capped(path, data, max);
  return changeOnce(call, path, async () => {
    const before = await readBeneath(call.workDir, path, max);
    return {
      after: sha256(data),
      result: changed(path, before?.data ?? null, data),
      apply: () => writeBeneath(call.workDir, path, data),
    };
  });
}

function patchFile(call: ToolCall, max: number): Promise<Json> {
  const path = ownPath(call);
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
    capped(path, data, max);
    return {
      after: sha256(data),
      result: changed(path, before.data, data),
      apply: () => writeBeneath(call.workDir, path, data),
    };
  });
}

function deleteFile(call: ToolCall): Promise<Json> {
  const path = ownPath(call);
  return changeOnce(call, path, async () => {
    if (!(await isThere(call.workDir, path))) throw missing(path);
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

function changed(path: string, before: Buffer | null, after: Buffer): Json {
  const was = before === null ? { text: '', lossy: false } : decode(before);
  const now = decode(after);
  const diff = diffOf(was.text, now.text);
  return {
    path,
    bytes: after.length,
    sha256: sha256(after),
    created: before === null,
    before: before === null ? null : sha256(before),
    ...diff,
  };
}

async function isThere(workDir: string, path: string): Promise<boolean> {
  const segments = segmentsOf(path);
  const name = segments.pop();
  const entries = await listBeneath(workDir, segments.join('/'));
  return entries?.some((entry) => entry.name === name) ?? false;
}

function pathOf({ args }: ToolCall): string {
  return segmentsOf((args['path'] as string | undefined) ?? '.').join('/');
}

/** A path that an agent may change: what the tools keep for themselves is not its to edit. */
function ownPath(call: ToolCall): string {
  const path = pathOf(call);
  if (path === ARTIFACTS.state || path.toLowerCase().startsWith(`${ARTIFACTS.state}/`)) {
    throw fail('policy', 'PathError', `\`${path}\` is kept by the tools themselves`);
  }
  return path;
}

function capped(path: string, data: Buffer, max: number): void {
  if (data.length > max) throw tooLarge(path, max);
}

function tooLarge(path: string, max: number): Error {
  return fail('semantic', 'TooLargeError', `\`${path}\` would have more than ${max} bytes`);
}

function missing(path: string): Error {
  return fail('semantic', 'NotFoundError', `\`${path}\` does not exist`);
}

interface Diff {
  readonly added: number;
  readonly removed: number;
  /** The differing stretch with its line numbers, cut where it gets long. */
  readonly diff: string;
}

const SHOWN_MAX = 40;
const LINE_MAX = 200;

function diffOf(before: string, after: string): Diff {
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
    .slice(0, SHOWN_MAX)
    .map((line) => `${sign}${line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)}…` : line}`);
  return lines.length > SHOWN_MAX ? [...kept, `${sign}… ${lines.length - SHOWN_MAX} more lines`] : kept;
}
