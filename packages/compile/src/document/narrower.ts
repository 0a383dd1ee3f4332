/**
 * The boundary of an agent can only narrow that of the document. A value that the document's stricter one would replace is an
 * error. It is a warning for an agent of a sub-flow, which other documents may call too, and for a budget, because both limits
 * hold.
 */
import { present } from '@sluice-internal/kernel/expr';
import { quoted } from '../source/nearest.ts';
import type { Report } from '../source/diagnostics.ts';
import type { Path } from '../source/located.ts';
import {
  CONSEQUENCES,
  UNTRUSTED,
  escalationOf,
  grantedNames,
  grantsOf,
  isWithheld,
  namesOf,
  permissionAt,
  stricter,
} from './boundary.ts';
import type { Granted } from './boundary.ts';
import { toolNamed } from './definitions.ts';
import type { Definitions } from './definitions.ts';
import { matches } from './names.ts';
import type { Boundary } from './schema/bounds.ts';
import type { Sections } from './schema/schema.ts';
import type { Shaped } from './shape/shape.ts';

interface Looser {
  /** From the boundary of the agent. */
  readonly path: Path;
  /** Both values. Continues "`field` of agent `a` …". */
  readonly difference: string;
  /** The place of the document's value, from its boundary. */
  readonly outer?: Path;
}

type Tools = { readonly [name: string]: Granted };

interface Compared {
  /** The sections that declare the agents. */
  readonly sections: Shaped<Sections>;
  /** The definitions of the main document, with the boundary that holds for the run. */
  readonly outer: Definitions;
  /** The definitions of the document that declares the agents. */
  readonly own: Definitions;
  readonly report: Report;
}

export function checkNarrower(compared: Compared): void {
  const { sections, outer, own, report } = compared;
  const { boundary } = outer;
  if (boundary === undefined) return;
  for (const [index, { id, name, boundary: narrower }] of (sections.value.agents ?? []).entries()) {
    const agent = id ?? name ?? '';
    const found = narrower === undefined ? [] : looser(narrower, boundary, toolsOf(agent, own));
    // The report has this mistake already.
    const isKnown = ({ path }: Looser): boolean => path[0] === 'decisions' && report.has('not-granted');
    for (const each of found) if (!isKnown(each)) reportLooser(each, agent, index, compared);
  }
}

function reportLooser(found: Looser, agent: string, index: number, { sections, outer, own, report }: Compared): void {
  const { path, difference, outer: place } = found;
  const field = path.filter((key) => typeof key === 'string').join('.');
  const isWritten = own === outer && place !== undefined && sections.located('boundary', ...place) !== undefined;
  const related = isWritten
    ? [{ message: 'the boundary of the document is here', at: sections.at('boundary', ...place) }]
    : [];
  report[own !== outer ? 'warning' : 'error'](
    'looser-boundary',
    sections.at('agents', index, 'boundary', ...path),
    `\`${field}\` of agent \`${agent}\` ${difference}`,
    { help: HELP, ...(isWritten ? { related } : {}) },
  );
}

const HELP =
  'The boundary of an agent can only narrow that of the document. Leave it out here, or change the document.';

function toolsOf(agent: string, definitions: Definitions): Tools {
  const { agents } = definitions;
  const names = (Object.hasOwn(agents, agent) ? agents[agent]?.tools : undefined) ?? [];
  return grantsOf(names, (name) => toolNamed(name, definitions), definitions);
}

function looser(own: Boundary, outer: Boundary, tools: Tools): readonly Looser[] {
  return [
    ...looserValues(own, outer),
    ...looserEscalation(own, outer),
    ...looserLists(own, outer),
    ...looserTools(own, outer, tools),
  ];
}

function looserValues(own: Boundary, outer: Boundary): readonly Looser[] {
  const found: Looser[] = [];
  const { approval_timeout: seconds, untrusted } = own;
  if (seconds !== undefined && seconds > (outer.approval_timeout ?? Infinity))
    found.push(differs(['approval_timeout'], seconds, outer.approval_timeout));
  if (untrusted !== undefined && stricter(UNTRUSTED, untrusted, outer.untrusted) !== untrusted)
    found.push(differs(['untrusted'], untrusted, outer.untrusted));
  return found;
}

function looserEscalation({ escalation = {} }: Boundary, outer: Boundary): readonly Looser[] {
  const given = escalationOf(outer);
  const { people, ...consequences } = escalation;
  const asked =
    people === true && outer.escalation?.people === false ? [differs(['escalation', 'people'], true, false)] : [];
  const looserOnes = Object.entries(present(consequences)).flatMap(([trouble, own]) => {
    const other = given[trouble];
    return stricter(CONSEQUENCES, own, other) === own ? [] : [differs(['escalation', trouble], own, other)];
  });
  return [...asked, ...looserOnes];
}

function differs(path: Path, own: unknown, outer: unknown): Looser {
  return { path, outer: path, difference: `is ${shown(own)}, looser than ${shown(outer)} of the document` };
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : quoted(value as string[]);
  return `\`${String(value)}\``;
}

/** Rights must be among those of the document. Restrictions must include those of the document. */
function looserLists(own: Boundary, outer: Boundary): readonly Looser[] {
  const extra = (own.decisions ?? []).filter((right) => outer.decisions?.includes(right) === false);
  const found = extra.map((right) => ({
    path: ['decisions', own.decisions?.indexOf(right) ?? 0],
    outer: ['decisions'],
    difference: `grants \`${right}\`, but the document grants ${shown(outer.decisions)}`,
  }));
  const restrictions = [
    ['approve_effects', own.approve_effects, outer.approve_effects],
    ['untrusted_input', own.untrusted_input, outer.untrusted_input],
  ] as const;
  return [
    ...found,
    ...restrictions.flatMap(([field, mine, theirs]) =>
      mine === undefined || includesAll(mine, theirs ?? false) ? [] : [differs([field], mine, theirs)],
    ),
  ];
}

function includesAll(mine: boolean | readonly string[], theirs: boolean | readonly string[]): boolean {
  if (mine === true || theirs === false) return true;
  if (theirs === true) return false;
  return theirs.every((each) => mine !== false && mine.includes(each));
}

/** An entry of a list of tools is looser if the document leaves none of the agent's tools that fit it. */
function looserTools(own: Boundary, outer: Boundary, tools: Tools): readonly Looser[] {
  const entries = Object.entries(tools);
  const governed = (field: 'observations' | 'state_writes'): Tools =>
    Object.fromEntries(entries.filter(([name, tool]) => isWithheld(name, tool, { [field]: [] })));
  const rows = [
    { path: ['tools', 'allow'], list: own.tools?.allow, among: tools, names: grantedNames, refusal: refusalOf },
    { path: ['tools', 'approve'], list: own.tools?.approve, among: tools, names: namesOf, refusal: denialOf },
    {
      path: ['observations'],
      list: own.observations,
      among: governed('observations'),
      names: grantedNames,
      refusal: withheldBy,
    },
    {
      path: ['state_writes'],
      list: own.state_writes,
      among: governed('state_writes'),
      names: grantedNames,
      refusal: withheldBy,
    },
  ];
  return rows.flatMap(({ path, list = [], among, names, refusal }) =>
    list.flatMap((entry, index): readonly Looser[] => {
      const fitting = Object.entries(among).filter(([name, tool]) => matches([entry], ...names(name, tool)));
      const refused = fitting.map(([name, tool]) => refusal(name, tool, outer));
      const [first] = refused;
      if (first === undefined || refused.includes(undefined)) return [];
      return [{ path: [...path, index], difference: `has \`${entry}\`, but the document ${first}` }];
    }),
  );
}

function refusalOf(name: string, tool: Granted, outer: Boundary): string | undefined {
  return permissionAt(name, tool, outer) === 'approve'
    ? `asks a person about \`${name}\``
    : denialOf(name, tool, outer);
}

function denialOf(name: string, tool: Granted, outer: Boundary): string | undefined {
  return permissionAt(name, tool, outer) === 'deny' ? `denies \`${name}\`` : undefined;
}

function withheldBy(name: string, tool: Granted, outer: Boundary): string | undefined {
  return isWithheld(name, tool, outer) ? `does not list \`${name}\`` : undefined;
}
