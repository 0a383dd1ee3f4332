/**
 * `AgentFile`: an agent in a file beside the document. A YAML or JSON file has the fields of an agent; a Markdown file is
 * its instructions, with fields in front matter. Fields of the document take precedence.
 */
import { childOf, parseSource, textOf } from '@sluice-internal/compile/source';
import type { Located, LocatedMap, Range, Report } from '@sluice-internal/compile/source';
import { TYPE_NAMES } from './schema/schema.ts';
import { normalised } from './spelling.ts';

type ReadText = ((file: string) => string | null) | undefined;

export function withAgentFiles(body: Located, readText: ReadText, report: Report): Located {
  const agents = childOf(body, 'Agents');
  if (body.kind !== 'map' || agents?.kind !== 'list') return body;
  const items = agents.items.map((agent) => (agent.kind === 'map' ? withFile(agent, readText, report) : agent));
  const entry = body.entries.get('Agents');
  if (entry === undefined) return body;
  return { ...body, entries: new Map([...body.entries, ['Agents', { ...entry, value: { ...agents, items } }]]) };
}

function withFile(agent: LocatedMap, readText: ReadText, report: Report): Located {
  const written = childOf(agent, 'AgentFile');
  const file = textOf(written);
  if (written === undefined || file === undefined || file === null) return agent;
  const text = readText?.(file) ?? null;
  const fields = text === null ? null : fieldsOf(text, file, written.range);
  if (fields === null) {
    report.error('bad-value', written.range, `the agent file \`${file}\` cannot be read`, {
      help: 'Paths start at the folder of the document. The file holds the fields of an agent, or its instructions as Markdown.',
    });
    return agent;
  }
  return { ...agent, entries: new Map([...fields.entries, ...agent.entries]) };
}

/** All fields have the place of `AgentFile`, so that a mistake in the file is reported there. */
function fieldsOf(text: string, file: string, range: Range): LocatedMap | null {
  const [, front, instructions] = /^\uFEFF?(?:---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$))?([\s\S]*)$/.exec(text) ?? [];
  const isMarkdown = /\.(?:md|markdown|txt)$/i.test(file);
  const source = isMarkdown ? (front ?? '{}') : text;
  const { doc, report } = parseSource(source, file);
  if (doc === null || report.failed()) return null;
  const inner = childOf(doc, 'Agent') ?? doc;
  const moved = relocated(normalised(inner, TYPE_NAMES), range);
  if (moved.kind !== 'map') return null;
  if (!isMarkdown) return moved;
  const value: Located = { kind: 'scalar', value: (instructions ?? '').trim(), range };
  const entry = { key: 'Instructions', keyRange: range, value };
  return { ...moved, entries: new Map([...moved.entries, ['Instructions', entry]]) };
}

function relocated(located: Located, range: Range): Located {
  if (located.kind === 'list') return { ...located, range, items: located.items.map((item) => relocated(item, range)) };
  if (located.kind !== 'map') return { ...located, range };
  const entries = [...located.entries].map(
    ([key, entry]) => [key, { ...entry, keyRange: range, value: relocated(entry.value, range) }] as const,
  );
  return { ...located, range, entries: new Map(entries) };
}
