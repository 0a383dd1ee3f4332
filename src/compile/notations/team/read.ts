/** Reads a team: all mistakes at once, names resolved. The strategy then reads its own keys of `Selection`. */
import type { Definitions } from '../../document/definitions.ts';
import { declareIds, namesAt } from '../../document/names.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { ReadDocument } from '../../document/document.ts';
import { childOf, textOf } from '../../source/located.ts';
import { nearest } from '../../diagnose/nearest.ts';
import { SECTION_NAMES } from '../../document/schema/schema.ts';
import { readShape } from '../../document/shape/shape.ts';
import type { Shaped } from '../../document/shape/shape.ts';
import { readMembers } from './agents.ts';
import { checkSources } from './context.ts';
import type { Reading, Team } from './model.ts';
import { STRATEGY_NAMES, teamSchema } from './schema/schema.ts';
import { TEAM_KEYS, UNENFORCED } from './schema/sections.ts';
import type { RawTeam } from './schema/sections.ts';
import { poison } from './poison.ts';
import { STRATEGIES } from './strategies/registry.ts';
import type { Plan, Strategy } from './strategies/strategy.ts';
import { readTermination } from './termination.ts';
import { isCompacted } from './turn.ts';

export interface ReadTeam {
  readonly team: Team;
  readonly reading: Reading;
  /** Null if the strategy is unknown or too little of it could be read. */
  readonly plan: Plan | null;
}

type Selection = { readonly Type: string; readonly [key: string]: unknown };
type Body = Shaped<RawTeam & { readonly Selection: Selection }>;

export function readTeam(document: ReadDocument, definitions: Definitions, report: Report): ReadTeam | null {
  const body: Body | null = readShape(teamSchema, document.body, report, {
    what: document.bare ? 'this document' : '`Orchestration`',
    alsoKnown: document.bare ? SECTION_NAMES : [],
    poison,
  });
  if (body === null) return null;
  const reading = readingOf(document, body, report);
  if (reading.names.all.size === 0 && body.sound)
    report.error('missing-field', document.at, 'a team needs at least one agent', {
      help: 'List them under `Agents`.',
    });
  const { members, tools } = readMembers(reading, definitions);
  checkAgents(reading);
  const strategy = strategyOf(body);
  const raw = body.value;
  if (strategy !== null) warnOfUnused(body, report, strategy);
  warnOfUnenforced(reading);
  if (raw.Verifier !== undefined) reading.agent(raw.Verifier.AgentName, ['Verifier', 'AgentName']);
  declareIds(childOf(document.body, 'Contracts'), report, { what: 'contract', key: 'Name' });
  const team: Team = {
    id: raw.Name ?? 'team',
    raw,
    strategy: strategy?.type ?? raw.Selection.Type,
    members,
    names: [...members.keys()],
    tools,
    termination: readTermination(reading),
    definitions,
  };
  return { team, reading, plan: strategy?.plan(raw.Selection, reading, team) ?? null };
}

function readingOf(document: ReadDocument, body: Body, report: Report): Reading {
  declareIds(childOf(document.body, 'Agents'), report, { what: 'agent', key: 'Name' });
  const names = namesAt(document.body, 'Agents', TEAM_KEYS, ['Name']);
  return {
    body,
    report,
    names,
    sections: document.names,
    at: (...path) => body.at(...path),
    keys: (...path) => {
      const map = body.located(...path);
      return new Set(map?.kind === 'map' ? map.entries.keys() : []);
    },
    agent: (name, path) => {
      if (names.all.has(name)) return true;
      // A team without agents is reported as a whole.
      if (names.has(name) || (names.all.size === 0 && body.sound)) return false;
      const near = names.near(name);
      report.error('unknown-agent', body.at(...path), `unknown agent \`${name}\``, {
        help: near === undefined ? 'Declare it under `Agents`.' : `Did you mean \`${near}\`?`,
      });
      return false;
    },
  };
}

/** The named strategy, or the nearest name to a misspelt one; null if there is none. */
function strategyOf(body: Body): Strategy | null {
  const written =
    body.sound || body.located('Selection', 'Type') !== undefined
      ? body.value.Selection.Type
      : nearest(textOf(childOf(body.located('Selection'), 'Type')) ?? '', STRATEGY_NAMES);
  return STRATEGIES.find(({ type }) => type === written) ?? null;
}

function checkAgents(reading: Reading): void {
  const { body, report } = reading;
  for (const [index, { Name, Context, ContextWindow }] of body.value.Agents.entries()) {
    checkSources(Context ?? [], ['Agents', index, 'Context'], true, reading);
    for (const [at, name] of (ContextWindow?.ExcludeAgents ?? []).entries())
      reading.agent(name, ['Agents', index, 'ContextWindow', 'ExcludeAgents', at]);
    if (Context !== undefined && ContextWindow !== undefined)
      report.warning(
        'unused-field',
        body.key('Agents', index, 'ContextWindow'),
        `\`ContextWindow\` of agent \`${Name}\` has no effect beside \`Context\``,
        { help: 'Keep one of them.' },
      );
  }
}

function warnOfUnused(body: Body, report: Report, { type, fields, endsItself }: Strategy): void {
  const raw = body.value;
  for (const [key, value] of Object.entries(raw.Selection)) {
    if (key === 'Type' || Object.hasOwn(fields, key) || value === undefined) continue;
    const message = `\`${key}\` has no effect with the strategy \`${type}\``;
    const help = 'Leave it out, or choose the strategy that reads it.';
    report.warning('unused-field', body.key('Selection', key), message, { help });
  }
  if (raw.Termination !== undefined && endsItself)
    report.warning(
      'ignored-termination',
      body.key('Termination'),
      `\`${type}\` ends by its own rules and does not look at \`Termination\``,
      { help: 'Leave it out.' },
    );
  if (raw.Verifier !== undefined && type !== 'statemachine')
    report.warning('unused-field', body.key('Verifier'), `\`Verifier\` has no effect with the strategy \`${type}\``, {
      help: 'Only `statemachine` has an agent that verifies.',
    });
  if (raw.Compaction !== undefined && !isCompacted({ raw, strategy: type }))
    report.warning(
      'not-enforced',
      body.key('Compaction'),
      `\`Compaction\` of mode \`${raw.Compaction.Mode}\` has no effect here`,
      {
        help:
          raw.Compaction.Mode === 'lossless'
            ? 'It needs `statemachine` and an `EvidenceStore`.'
            : 'Use `lossless` or `window`.',
      },
    );
}

function warnOfUnenforced({ body, report }: Reading): void {
  const raw = body.value;
  for (const key of UNENFORCED) {
    if (raw[key as keyof typeof raw] === undefined) continue;
    report.warning('not-enforced', body.key(key), `\`${key}\` is read but has no effect in this release`, {
      help: key === 'MaxTotalTokens' ? 'Limit tokens with `budgets`.' : 'Do not rely on it.',
    });
  }
}
