/**
 * Prints under each example of `docs/errors` the message that it gives. A test compares the pages with the messages.
 *
 *   node scripts/error-pages.ts
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from '@sluice-internal/library';
import type { Diagnostic } from '@sluice-internal/library';
import { readScript } from '@sluice-internal/library/host';
import { root } from './tool.ts';

const folder = join(root, 'docs', 'errors');

/** The pages as they should be, by file name. */
export function errorPages(): { readonly [file: string]: string } {
  const files = readdirSync(folder).filter((file) => file !== 'README.md');
  return Object.fromEntries(files.map((file) => [file, withMessages(file.replace(/\.md$/, ''))]));
}

function withMessages(code: string): string {
  const page = readFileSync(join(folder, `${code}.md`), 'utf8');
  return page.replaceAll(EXAMPLE, (_, example: string) => {
    const found = diagnosticsOf(code, example).find((each) => each.code === code);
    return `\`\`\`yaml\n${example}\`\`\`\n${found === undefined ? '' : `\n\`\`\`text\n${textOf(found)}\n\`\`\`\n`}`;
  });
}

/** An example, and the message that a page may have for it already. */
const EXAMPLE = /```yaml\n([\s\S]+?)```\n(?:\n```text\n(?:error|warning)\[[\s\S]+?```\n)?/g;

function diagnosticsOf(code: string, example: string): readonly Diagnostic[] {
  if (code !== 'bad-script') return compile(example, { file: 'demo.yaml' }).diagnostics;
  const { flow } = compile('steps: [{ name: sort, agent_name: triage_bot }]');
  return readScript(example, 'demo.script.yaml', flow).diagnostics;
}

/** As `sluice check` prints it, without the line of the document. */
function textOf({ severity, code, message, file, line, column, help }: Diagnostic): string {
  const lines = [`${severity}[${code}]: ${message}`, ` --> ${file}:${line}:${column}`];
  return [...lines, ...(help === undefined ? [] : [`  = help: ${help}`])].join('\n');
}

if (process.argv[1] === import.meta.filename)
  for (const [file, text] of Object.entries(errorPages())) writeFileSync(join(folder, file), text);
