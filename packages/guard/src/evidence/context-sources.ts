/**
 * Text for an agent's context: the session summary, the latest changes, a field of the brief, a file. A source without text
 * has a reason instead.
 */
import type { Json } from '@sluice-internal/kernel/expr';
import { cut } from '@sluice-internal/platform';
import { fieldAt, readBrief } from './artifacts.ts';
import type { Evidence, Observation } from './evidence.ts';
import { commandsOf, succeeded, writtenBy } from './records.ts';

const CHANGES = 3;

/** `source` is `session_context`, `changes_recent[:N]`, `brief_field:FIELD` or `file:PATH`. */
export interface Wanted {
  readonly source: string;
  readonly label: string;
  readonly maxChars: number;
}

/** Several sources as labelled sections. Sources without text are listed with the reason. */
export async function readSources(
  wanted: readonly Wanted[],
  evidence: Evidence,
): Promise<{ sections: { label: string; text: string }[]; skipped: { source: string; reason: string }[] }> {
  const sections: { label: string; text: string }[] = [];
  const skipped: { source: string; reason: string }[] = [];
  for (const { source, label, maxChars } of wanted) {
    const [name = '', ...rest] = source.split(':');
    const found = await resolve(name, rest.join(':').trim(), evidence);
    if (typeof found === 'string')
      sections.push({ label, text: cut(found, maxChars, ' — read the source for the rest') });
    else skipped.push({ source, reason: found.why });
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

function textOf(value: Json): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string'))
    return value.map((item) => `- ${item}`).join('\n');
  return JSON.stringify(value, null, 2);
}
