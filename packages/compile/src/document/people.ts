/**
 * The people of a document: declared in it, or in `sluice.people.yaml` beside it. They become part of the compiled flow, so a
 * run keeps them: editing the file later changes no run that has started.
 */
import { present } from '@sluice-internal/kernel/expr';
import { withAsks } from '@sluice-internal/kernel/ir';
import type { Approvers, AskEffect, Node, PeopleDef, PersonDef } from '@sluice-internal/kernel/ir';
import { approvingChoices, personIn, samePerson } from '@sluice-internal/kernel/ir';
import type { Related as RelatedEntry, Report } from '../source/diagnostics.ts';
import { didYouMean } from '../source/nearest.ts';
import type { Range } from '../source/range.ts';
import type { Located } from '../source/located.ts';
import { parseSource } from '../source/source.ts';
import type { ReadDocument } from './document.ts';
import { people as peopleSchema, peopleFile, type ApproversValue, type PersonValue } from './schema/people.ts';
import { listed } from './shape/fault-words.ts';
import { readShape, type Places } from './shape/shape.ts';

const PEOPLE_FILE = 'sluice.people.yaml';

/** Names that the engine itself uses for answers. */
const RESERVED: readonly string[] = ['clock', 'script'];

type At = Places['at'];

export interface People {
  readonly def: PeopleDef;
  /** False if a part of the declaration is wrong. Names that are missing then give no error of their own. */
  readonly sound: boolean;
}

/** Undefined if neither the document nor a file declares people. Both lists together are the people of the document. */
export function readPeople(
  { sections, names }: ReadDocument,
  report: Report,
  readText: ((file: string) => string | null) | undefined,
): People | undefined {
  const own = sections.value.people;
  const text = readText?.(PEOPLE_FILE) ?? null;
  const unread = sections.poisoned('people') || names.misspelt.has('people');
  if (own === undefined && text === null) return unread ? { def: {}, sound: false } : undefined;
  const file = text === null ? { people: [], sound: true } : fromFile(text, report);
  const here = entriesOf(own ?? [], sections.under('people').at, report);
  const damaged = sections.damaged('people') || here.some((_, index) => sections.poisoned('people', index, 'roles'));
  const twice = declaredTwice(here, file.people);
  if (twice.length > 0) reportTwice(sections.key('people'), twice, report);
  const news = here.filter((each) => !twice.some(([one]) => one === each));
  const def = peopleOf([...file.people, ...news]);
  return { def, sound: file.sound && !unread && !damaged && twice.length === 0 };
}

/** A person of a list, with its place. */
interface Entry {
  readonly value: PersonValue;
  readonly at: At;
  readonly report: Report;
}

function fromFile(text: string, report: Report): { readonly people: readonly Entry[]; readonly sound: boolean } {
  const { file } = report.source;
  const parsed = parseSource(text, `${file.slice(0, file.lastIndexOf('/') + 1)}${PEOPLE_FILE}`, FILE);
  report.include(parsed.report);
  const people = parsed.doc === null ? [] : readFile(parsed.doc, parsed.report);
  return { people, sound: !parsed.report.failed() };
}

function readFile(doc: Located, report: Report): readonly Entry[] {
  const options = { what: FILE.what };
  if (doc.kind === 'list') {
    const shaped = readShape(peopleSchema, doc, report, options);
    return shaped === null ? [] : entriesOf(shaped.value, shaped.at, report);
  }
  const shaped = readShape(peopleFile, doc, report, options);
  return shaped === null ? [] : entriesOf(shaped.value.people, shaped.under('people').at, report);
}

function entriesOf(values: readonly PersonValue[], at: At, report: Report): readonly Entry[] {
  return values.map((value, index) => ({ value, at: (...path) => at(index, ...path), report }));
}

/** The people of the document that are in the file too. */
function declaredTwice(own: readonly Entry[], others: readonly Entry[]): readonly (readonly [Entry, Entry])[] {
  return own.flatMap((each) => {
    const other = others.find(({ value }) => value.id === each.value.id);
    return other === undefined ? [] : [[each, other] as const];
  });
}

function reportTwice(key: Range, twice: readonly (readonly [Entry, Entry])[], report: Report): void {
  const ids = twice.map(([{ value }]) => `\`${value.id}\``);
  report.error('people-twice', key, `declared here and in \`${PEOPLE_FILE}\`: ${ids.join(', ')}`, {
    help: `Keep each person in one of the two. \`${PEOPLE_FILE}\` serves all documents of its folder.`,
    related: twice.flatMap((pair) => pair.map((each) => placeOf(each, `\`${each.value.id}\` is declared`))),
  });
}

function placeOf({ at, report: { source } }: Entry, message: string, field = 'id'): RelatedEntry {
  return { message, at: at(field), source };
}

const FILE = { what: 'this file', start: 'Write `people:` and a list of people.' };

function peopleOf(entries: readonly Entry[]): PeopleDef {
  const people: { [id: string]: PersonDef } = Object.create(null) as { [id: string]: PersonDef };
  const seen: Entry[] = [];
  const proofs = new Map<string, string>();
  const logins = new Map<string, Entry>();
  for (const entry of entries) {
    const { value, at, report } = entry;
    const { id, roles = [], key, os_user: user, login } = value;
    refuseLikeOthers(entry, seen);
    seen.push(entry);
    if (personIn(RESERVED, id) !== undefined)
      report.error('reserved-id', at('id'), `a person cannot be called \`${id}\``, {
        help: 'Choose another id.',
      });
    if (key !== undefined && user !== undefined)
      report.error('bad-value', at('os_user'), `\`os_user\` has no effect: \`${id}\` has a key`, {
        help: 'Keep `key` or `os_user`, not both.',
      });
    const person = { roles, ...present({ key: key && plainKey(key), osUser: user, login }) };
    const proof = person.key ?? `user ${user ?? id}`;
    const twin = proofs.get(proof);
    if (twin !== undefined && !samePerson(twin, id))
      report.error('bad-value', at(), `\`${id}\` and \`${twin}\` are the same person: they prove it in the same way`, {
        help: 'Give each person a key of their own.',
      });
    proofs.set(proof, id);
    refuseSharedLogin(entry, logins);
    people[id] ??= person;
  }
  return people;
}

/** One login for two people would let one person answer as both. */
function refuseSharedLogin(entry: Entry, seen: Map<string, Entry>): void {
  const { value, at, report } = entry;
  if (value.login === undefined) return;
  const other = seen.get(value.login);
  if (other === undefined) seen.set(value.login, entry);
  else if (!samePerson(other.value.id, value.id))
    report.error('bad-value', at('login'), `\`${value.id}\` and \`${other.value.id}\` have the same login`, {
      help: 'Give each person a login of their own.',
      related: [placeOf(other, `\`${other.value.id}\` has it`, 'login')],
    });
}

/** Two ids that a reader takes for one would be two people for a quorum, and one person for the reader. */
function refuseLikeOthers(entry: Entry, seen: readonly Entry[]): void {
  const { value, at, report } = entry;
  const other = seen.find((each) => samePerson(each.value.id, value.id));
  if (other === undefined) return;
  const { id } = other.value;
  const related = [placeOf(other, `\`${id}\` is declared`)];
  if (id === value.id)
    report.error('duplicate-id', at('id'), `the person \`${id}\` is declared twice`, {
      help: 'Keep one of them, or rename one.',
      related,
    });
  else
    report.error('look-alike', at('id'), `the ids \`${value.id}\` and \`${id}\` look alike, and count as one person`, {
      help: `Rename one of them.${[id, value.id].map(foreignLetters).join('')}`,
      related,
    });
}

/** A reader cannot see which letters make the difference. */
function foreignLetters(id: string): string {
  const codes = Array.from(id)
    .filter((each) => each > '~')
    .map((each) => `U+${(each.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`);
  return codes.length === 0 ? '' : ` \`${id}\` has ${codes.join(', ')}.`;
}

/** One spelling for every form of the key: base64url of the 32 bytes, without the header of the DER form. */
function plainKey(key: string): string {
  const bytes = key.slice('ed25519:'.length).replace(/^MCowBQYDK2VwAyEA(?=.{43})/, '');
  return `ed25519:${bytes.replaceAll('+', '-').replaceAll('/', '_').replace(/=$/, '')}`;
}

/** `approvers` of tools. They also demand the approval. */
export function checkToolApprovers({ sections }: ReadDocument, people: People | undefined, report: Report): void {
  for (const [name, { approvers, approval }] of Object.entries(sections.value.tools)) {
    const { at } = sections.under('tools', name, 'approvers');
    checkApprovers(approvers, people, { at, of: `tool \`${name}\`` }, report);
    if (approvers !== undefined && approval === 'never')
      report.error(
        'bad-value',
        sections.at('tools', name, 'approval'),
        `tool \`${name}\` has \`approvers\`, but asks no person`,
        {
          help: 'Remove `approval: never`, or the `approvers`.',
        },
      );
  }
}

interface ApproversPlace {
  readonly at: At;
  /** The node, tool or stage, as in ``tool `pay` ``. */
  readonly of: string;
  /** Seconds after which the question expires. */
  readonly timeout?: number | undefined;
}

/** Every name must be declared, and enough people must be able to agree. */
export function checkApprovers(
  value: ApproversValue | undefined,
  people: People | undefined,
  { at, of, timeout }: ApproversPlace,
  report: Report,
): void {
  if (value === undefined) return;
  if (people?.sound === false) return;
  if (people === undefined) {
    report.error('unknown-approver', at(), `${of} has \`approvers\`, but no people are declared`, {
      help: `Declare them under \`people\`, or in \`${PEOPLE_FILE}\` beside the document.`,
    });
    return;
  }
  const known = checkNames(value, people.def, at, of, report);
  const second = value.escalate;
  if (second !== undefined) checkNames(second, people.def, (...path) => at('escalate', ...path), of, report);
  if (second !== undefined && timeout !== undefined && second.after >= timeout)
    report.error('bad-value', at('escalate', 'after'), `${of} expires before the second level is asked`, {
      help: `Write fewer than ${timeout} seconds.`,
    });
  const { quorum = 1 } = value;
  const most = possible(value, people.def).length;
  if (known && quorum > most)
    report.error(
      'quorum-too-large',
      at('quorum'),
      `${of}: the quorum is ${quorum}, and ${most === 0 ? 'nobody' : most} can approve`,
      {
        help: 'Name more people or roles, or lower `quorum`.',
      },
    );
}

type Named = Pick<ApproversValue, 'roles' | 'people'>;

function checkNames(named: Named, people: PeopleDef, at: At, of: string, report: Report): boolean {
  const roles = [...new Set(Object.values(people).flatMap((person) => person.roles))];
  const check = (field: 'roles' | 'people', known: readonly string[], what: string): boolean => {
    let all = true;
    for (const [index, name] of (named[field] ?? []).entries()) {
      if (known.includes(name)) continue;
      all = false;
      report.error('unknown-approver', at(field, index), `unknown ${what} \`${name}\` in \`approvers\` of ${of}`, {
        help: didYouMean(name, known, `Declared: ${listed(known)}.`),
      });
    }
    return all;
  };
  const arePeopleKnown = check('people', Object.keys(people), 'person');
  return check('roles', roles, 'role') && arePeopleKnown;
}

function possible({ roles, people: names }: Named, people: PeopleDef): readonly string[] {
  if (roles === undefined && names === undefined) return Object.keys(people);
  return Object.keys(people).filter(
    (id) => names?.includes(id) === true || people[id]?.roles.some((role) => roles?.includes(role) === true) === true,
  );
}

/**
 * Adds to the approvers of a node the choices that need their quorum. Everybody may answer a question for information. `stage`
 * are the people who answer if the stage of the node escalates.
 */
export function withApprovers(node: Node, people: People | undefined, stage?: Approvers): Node {
  if (people === undefined || node.op !== 'do') return node;
  const { effect, controls } = node;
  const given = (ask: AskEffect): AskEffect => askedOf(ask, people, stage);
  if (controls !== undefined) return { ...node, controls: withAsks(controls, given) };
  return effect.kind === 'ask' ? { ...node, effect: given(effect) } : node;
}

function askedOf(effect: AskEffect, { def }: People, stage: Approvers | undefined): AskEffect {
  if (INFORMATION.has(effect.code)) return effect;
  const ofStage = effect.purpose === 'escalation' || effect.purpose === 'budget' ? stage : undefined;
  const declared = effect.approvers ?? ofStage ?? approversOf({}, def);
  return { ...effect, approvers: { ...declared, counted: countedOf(effect) } };
}

const INFORMATION: ReadonlySet<string> = new Set(['MISSING_INFO', 'AMBIGUOUS_INTENT']);
function countedOf({ choices, onExpiry }: AskEffect): readonly string[] {
  return approvingChoices(
    choices.map(({ name }) => name),
    onExpiry,
  );
}

/** The approvers that the definition of a tool names. */
export function approversOfTool(
  { people, toolApprovers }: { readonly people?: People | undefined; readonly toolApprovers: ToolApprovers },
  tool: string,
): { readonly approvers?: Approvers } {
  const value = Object.hasOwn(toolApprovers, tool) ? toolApprovers[tool] : undefined;
  return givenApprovers(value, people);
}

export type ToolApprovers = { readonly [tool: string]: ApproversValue };

export function givenApprovers(
  value: ApproversValue | undefined,
  people: People | undefined,
): { readonly approvers?: Approvers } {
  return value === undefined || people === undefined ? {} : { approvers: approversOf(value, people.def) };
}

/** The people of a declaration that was checked. `counted` follows with the question. */
function approversOf(value: ApproversValue, people: PeopleDef): Approvers {
  const { roles, quorum = 1, escalate } = value;
  return {
    people: possible(value, people),
    quorum,
    counted: [],
    ...present({
      roles,
      escalation: escalate && {
        afterMs: Math.ceil(escalate.after * 1000),
        people: possible(escalate, people),
        ...present({ roles: escalate.roles }),
      },
    }),
  };
}
