/**
 * Text for an agent's context: the session summary, the latest changes, a field of the brief, a file. A source without text
 * has a reason instead.
 */
import type { Json } from '../../expr/json.ts';
import { fieldAt, readBrief } from './artifacts.ts';
import type { Evidence, Observation } from './evidence.ts';
import { commandsOf, succeeded, writtenBy } from './records.ts';

export interface SourceText {
  readonly text: string;
  readonly found: boolean;
  readonly truncated: boolean;
  readonly reason: string;
}

const CHARS_MAX = 4_000;
const CHANGES = 3;

/** `source` is `session_context`, `changes_recent[:N]`, `brief_field:FIELD` or `file:PATH`. */
export async function readSource(
  source: string,
  evidence: Evidence,
  max: Json = evidence.config['MaxChars'] ?? null,
): Promise<SourceText> {
  const colon = source.indexOf(':');
  const [name, argument] = colon === -1 ? [source, ''] : [source.slice(0, colon), source.slice(colon + 1).trim()];
  const found = await resolve(name, argument, evidence);
  if (typeof found !== 'string') return { text: '', found: false, truncated: false, reason: found.why };
  return cut(found, typeof max === 'number' && max > 0 ? max : CHARS_MAX);
}

export interface Wanted {
  readonly source: string;
  readonly label: string;
  readonly maxChars?: number;
}

/** Several sources as labelled sections. Sources without text are listed with the reason. */
export async function readSources(
  wanted: readonly Wanted[],
  evidence: Evidence,
): Promise<{ sections: { label: string; text: string }[]; skipped: { source: string; reason: string }[] }> {
  const sections: { label: string; text: string }[] = [];
  const skipped: { source: string; reason: string }[] = [];
  for (const { source, label, maxChars } of wanted) {
    const { found, text, reason } = await readSource(source, evidence, maxChars ?? null);
    if (found) sections.push({ label, text });
    else skipped.push({ source, reason });
  }
  return { sections, skipped };
}

async function resolve(name: string, argument: string, evidence: Evidence): Promise<string | { readonly why: string }> {
  switch (name) {
    case 'session_context': {
      const last = evidence.observations.findLast((each) => each.tool === 'session_context_write' && succeeded(each));
      const content = last?.args['content'];
      return typeof content === 'string' && content !== '' ? content : { why: 'no summary was left' };
    }
    case 'changes_recent': {
      const entries = changesOf(evidence.observations).slice(-(Number.parseInt(argument, 10) || CHANGES));
      return entries.length > 0 ? entries.join('\n') : { why: 'nothing was changed' };
    }
    case 'brief_field': {
      const brief = await readBrief(evidence);
      if (!brief.ok) return { why: brief.why };
      const value = fieldAt(brief.value, argument);
      return value === undefined || value === null ? { why: `the brief has no \`${argument}\`` } : textOf(value);
    }
    case 'file': {
      const text = argument === '' ? null : await evidence.readText(argument);
      return text ?? { why: `\`${argument}\` does not exist` };
    }
    default:
      return { why: `\`${name}\` is not a source` };
  }
}

/** One entry for each turn that changed something. */
function changesOf(observations: readonly Observation[]): string[] {
  return [...Map.groupBy(observations, ({ turn }) => turn)].flatMap(([turn, own]) => {
    const deleted = own
      .filter((each) => each.tool === 'delete_file' && succeeded(each))
      .map(({ args }) => String(args['path']));
    const ran = commandsOf(own).map(({ command, passed }) => `${passed ? 'ok' : 'failed'}: ${command}`);
    const lines = [
      ...line('wrote', writtenBy(own)),
      ...line('deleted', deleted),
      ...ran.map((each) => `  ran ${each}`),
    ];
    return lines.length === 0 ? [] : [[`turn ${turn}, ${own[0]?.agent ?? ''}:`, ...lines].join('\n')];
  });
}

function line(verb: string, paths: readonly string[]): string[] {
  return paths.length === 0 ? [] : [`  ${verb} ${paths.join(', ')}`];
}

function cut(text: string, max: number): SourceText {
  if (text.length <= max) return { text, found: true, truncated: false, reason: '' };
  const end = /[\ud800-\udbff]/.test(text[max - 1] ?? '') ? max - 1 : max;
  return {
    text: `${text.slice(0, end)}\n[...${text.length - end} chars truncated — read the source for the rest]`,
    found: true,
    truncated: true,
    reason: '',
  };
}

function textOf(value: Json): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string'))
    return value.map((item) => `- ${item}`).join('\n');
  return JSON.stringify(value, null, 2);
}
