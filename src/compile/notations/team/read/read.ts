/** Reads a team: strictly, all mistakes at once, names resolved. What a strategy adds to that is read by its own plan. */
import type { Definitions } from '../../../document/definitions.ts';
import { declareIds, namesAt } from '../../../document/names.ts';
import type { Report } from '../../../diagnose/diagnostics.ts';
import type { ReadDocument } from '../../../document/document.ts';
import { childOf, textOf } from '../../../source/located.ts';
import { nearest } from '../../../diagnose/nearest.ts';
import { SECTION_NAMES } from '../../../document/schema/schema.ts';
import { readShape } from '../../../document/shape/shape.ts';
import { readMembers } from '../agents.ts';
import { isCarriedOut } from '../compaction.ts';
import type { Reading, Team } from '../model.ts';
import { checkSources } from './context.ts';
import { readTermination } from './termination.ts';
import { STRATEGIES, TEAM_KEYS, UNENFORCED, teamSchema } from '../schema/schema.ts';
import type { RawTeam, Strategy } from '../schema/schema.ts';
import { poison } from '../poison.ts';

export interface ReadTeam {
  readonly team: Team;
  readonly reading: Reading;
  readonly strategy: Strategy | null;
}

export function readTeam(document: ReadDocument, definitions: Definitions, report: Report): ReadTeam | null {
  const body = readShape(teamSchema, document.body, report, {
    what: document.bare ? 'this document' : '`Orchestration`',
    alsoKnown: document.bare ? SECTION_NAMES : [],
    poison,
  });
  if (body === null) return null;
  declareIds(childOf(document.body, 'Agents'), report, { what: 'agent', key: 'Name' });
  const names = namesAt(document.body, 'Agents', TEAM_KEYS, ['Name']);
  const reading: Reading = {
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
  if (names.all.size === 0 && body.sound)
    report.error('missing-field', document.at, 'a team needs at least one agent', {
      help: 'List them under `Agents`.',
    });
  const { members, tools } = readMembers(reading, definitions);
  checkAgents(reading);
  const strategy = strategyOf(reading);
  const raw =
    strategy === null ? body.value : { ...body.value, Selection: { ...body.value.Selection, Type: strategy } };
  if (strategy !== null) warnOfUnused(reading, raw, strategy);
  warnOfUnenforced(reading);
  if (raw.Verifier !== undefined) reading.agent(raw.Verifier.AgentName, ['Verifier', 'AgentName']);
  declareIds(childOf(document.body, 'Contracts'), report, { what: 'contract', key: 'Name' });
  const termination = readTermination(reading);
  const team: Team = {
    id: raw.Name ?? 'team',
    raw,
    members,
    names: [...members.keys()],
    tools,
    termination,
    definitions,
  };
  return { team, reading, strategy };
}

/** The strategy, or the one that was meant; null where that cannot be told. */
function strategyOf({ body }: Reading): Strategy | null {
  if (body.sound || body.located('Selection', 'Type') !== undefined) return body.value.Selection.Type;
  const written = textOf(childOf(body.located('Selection'), 'Type'));
  return written === undefined ? null : (STRATEGIES.find((each) => each === nearest(written, STRATEGIES)) ?? null);
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

/** What each strategy reads of `Selection`, beside its type. */
const READS: { readonly [strategy in Strategy]: readonly string[] } = {
  sequential: [],
  roundrobin: [],
  keyword: ['DefaultAgent', 'Routes'],
  structured: ['DefaultAgent', 'StructuredRoutes'],
  statemachine: ['StateMachine'],
  graph: ['Graph'],
  scattergather: ['ScatterGather'],
  mapreduce: ['MapReduce'],
  llm: ['Model', 'Prompt'],
  magentic: ['Magentic'],
  adversarial: ['Adversarial'],
};
const OWN_END: ReadonlySet<Strategy> = new Set(['scattergather', 'mapreduce', 'magentic', 'adversarial']);

function warnOfUnused({ body, report }: Reading, raw: RawTeam, Type: Strategy): void {
  for (const key of Object.keys(raw.Selection)) {
    if (key === 'Type' || READS[Type].includes(key) || raw.Selection[key as keyof typeof raw.Selection] === undefined)
      continue;
    report.warning(
      'unused-field',
      body.key('Selection', key),
      `\`${key}\` has no effect with the strategy \`${Type}\``,
      { help: 'Leave it out, or choose the strategy that reads it.' },
    );
  }
  if (raw.Termination !== undefined && OWN_END.has(Type))
    report.warning(
      'ignored-termination',
      body.key('Termination'),
      `\`${Type}\` ends by its own rules and does not look at \`Termination\``,
      { help: 'Leave it out.' },
    );
  if (raw.Verifier !== undefined && Type !== 'statemachine')
    report.warning('unused-field', body.key('Verifier'), `\`Verifier\` has no effect with the strategy \`${Type}\``, {
      help: 'Only `statemachine` has an agent that verifies.',
    });
  if (raw.Compaction !== undefined && !isCarriedOut(raw))
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
