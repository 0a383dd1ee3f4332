/** Search tools: lines and files of the work directory. Patterns run in linear time. */
import { reasonOf } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { filesBelow, listBeneath, readBeneath } from '@sluice-internal/platform';
import { fail } from '@sluice-internal/engine/ports';
import { RE2JS } from 're2js';
import type { ToolCall, ToolKind } from './tool.ts';

const MATCHES_MAX = 100;
const FILES_MAX = 5_000;
const FILE_BYTES_MAX = 1024 * 1024;
const LINE_MAX = 300;
const SKIPPED = new Set(['.git', 'node_modules', '.fuseraft', 'dist', 'target', '.venv', '__pycache__']);

export function searchTools(): ToolKind {
  return { builtins: { search_content: searchContent, search_files: searchFiles } };
}

async function searchContent(call: ToolCall): Promise<Json> {
  const pattern = patternOf(call);
  const matches: Json[] = [];
  const { files, isCut } = await filesUnder(call);
  let truncated = isCut;
  for (const path of files) {
    call.signal.throwIfAborted();
    const file = await readBeneath(call.workDir, path, FILE_BYTES_MAX);
    const text = file?.data.toString('utf8') ?? '';
    if (text.includes('\0')) continue;
    truncated ||= (file?.size ?? 0) > FILE_BYTES_MAX;
    for (const [index, line] of text.split('\n').entries()) {
      if (!pattern.matcher(line).find()) continue;
      if (matches.length === MATCHES_MAX) return { matches, truncated: true };
      matches.push({ path, line: index + 1, text: line.slice(0, LINE_MAX) });
    }
  }
  return { matches, truncated };
}

async function searchFiles(call: ToolCall): Promise<Json> {
  const part = String(call.args['pattern']).toLowerCase();
  const { files, isCut } = await filesUnder(call);
  const found = files.filter((path) => path.toLowerCase().includes(part));
  return { files: found.slice(0, MATCHES_MAX), truncated: isCut || found.length > MATCHES_MAX };
}

function patternOf({ args }: ToolCall): RE2JS {
  try {
    return RE2JS.compile(String(args['pattern']), RE2JS.CASE_INSENSITIVE);
  } catch (error) {
    throw fail('semantic', 'ArgumentError', `the pattern cannot be used: ${reasonOf(error)}`);
  }
}

async function filesUnder({
  workDir,
  args,
  signal,
}: ToolCall): Promise<NonNullable<Awaited<ReturnType<typeof filesBelow>>>> {
  const start = typeof args['path'] === 'string' && args['path'] !== '' ? args['path'] : '.';
  const list = (folder: string): ReturnType<typeof listBeneath> => listBeneath(workDir, folder);
  const found = await filesBelow({ list, start, skipped: SKIPPED, max: FILES_MAX, signal });
  if (found === null && start !== '.') throw fail('semantic', 'NotFoundError', `\`${start}\` does not exist`);
  return found ?? { files: [], isCut: false };
}
