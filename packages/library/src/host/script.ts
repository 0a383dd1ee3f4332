/** Reads a script and checks it as strictly as a document: misspelt keys, agents and choices are reported with their place. */
import { suffixesOf } from './scripted/performer.ts';
import * as z from 'zod';
import type { Script } from './scripted/script.ts';
import { didYouMean, locate, nearest, parseSource } from '@sluice-internal/compile/source';
import type { Diagnostic, Parsed, Report } from '@sluice-internal/compile/source';
import { refuseOtherKind } from '@sluice-internal/notations/driver';
import { checkExpression, reportProblems } from '@sluice-internal/compile/expressions';
import {
  bool,
  int,
  json,
  list,
  map,
  name,
  number,
  oneOf,
  readShape,
  record,
  text,
} from '@sluice-internal/compile/document';
import type { Shaped } from '@sluice-internal/compile/document';
import { asksOf } from '@sluice-internal/kernel/ir';
import type { CompiledFlow, Node } from '@sluice-internal/kernel/ir';

export interface ReadScript {
  /** Null if the script has errors. */
  readonly script: Script | null;
  readonly diagnostics: readonly Diagnostic[];
}

/** Reads a text. With a flow, also reports names that the flow does not have. */
export function readScript(source: string, file: string, flow?: CompiledFlow): ReadScript {
  return checked(parseSource(source, file, SCRIPT), flow);
}

/** Reads an object that a program made. */
export function readScriptObject(value: unknown): ReadScript {
  return checked(locate(value));
}

function checked({ doc, report }: Parsed, flow?: CompiledFlow): ReadScript {
  const isScript = doc !== null && !refuseOtherKind(doc, 'script', report);
  const shaped = isScript ? readShape(scriptSchema, doc, report, { what: SCRIPT.what }) : null;
  if (shaped !== null) {
    checkConditions(shaped, report);
    if (!report.failed()) checkAnswers(shaped, report);
  }
  if (shaped !== null && flow !== undefined) {
    warnOfUnknownNames(shaped, flow, report);
    checkChoices(shaped, flow, report);
  }
  return { script: shaped === null || report.failed() ? null : shaped.value, diagnostics: report.list() };
}

const SCRIPT = {
  what: 'this script',
  start:
    'Write `agents:` for the replies of models, `tools:` for the results of tools, `approvals:` for the answers of people, and `signals:` for signals.',
};

const shared = {
  when: text().optional(),
  delayMs: int({ min: 0 }).optional(),
  error: oneOf(['transient', 'timeout', 'rate_limit', 'refused', 'fatal']).optional(),
  message: text().optional(),
  type: name().optional(),
};
const modelEntry = record({
  ...shared,
  text: anyText().optional(),
  usage: record({ input: int({ min: 0 }).optional(), output: int({ min: 0 }).optional() }).optional(),
  // A model can propose a call without a name.
  tools: list(record({ name: text(), args: json().optional() })).optional(),
  // A verdict of a verifier.
  ok: bool().optional(),
  problem: z.union([text(), z.null()]).optional(),
  missing: list(text()).optional(),
  confidence: z.union([number(), z.null()]).optional(),
  conflict: json().optional(),
});
const toolEntry = record({ ...shared, result: json().optional() });
const answerEntry = record({
  choice: anyText().optional(),
  expires: bool().optional(),
  text: text().optional(),
  edit: json().optional(),
  data: json().optional(),
  by: z.union([name(), list(name(), { min: 1 })]).optional(),
});
const answer = z.union([anyText(), answerEntry]);

export const scriptSchema = record({
  agents: map(entries(z.union([anyText(), modelEntry]))).optional(),
  tools: map(entries(toolEntry)).optional(),
  approvals: map(z.union([answer, list(answer, { min: 1 })])).optional(),
  signals: map(json()).optional(),
  clock: oneOf(['virtual', 'real']).optional(),
  strict: bool().optional(),
});
type ScriptValue = z.output<typeof scriptSchema>;

/** Text, also if YAML reads it as a number or a boolean, such as `42` or `true`. */
function anyText() {
  return z.union([text(), number().transform(String), bool().transform(String)]);
}

/** A list of entries, or a single entry. */
function entries<Entry extends z.ZodType>(entry: Entry) {
  return z.union([list(entry, { min: 1 }), entry.transform((only) => [only])]);
}

/** A broken condition would fail a call during the run and look like a failure of the flow. */
function checkConditions({ value, located }: Shaped<ScriptValue>, report: Report): void {
  for (const section of ['agents', 'tools'] as const) {
    for (const [owner, given] of Object.entries(value[section] ?? {})) {
      for (const [index, entry] of given.entries()) {
        if (typeof entry === 'string' || entry.when === undefined) continue;
        const checked = checkExpression(entry.when, { names: ['input'], types: { input: { type: 'string' } } });
        const scalar = located(section, owner, index, 'when') ?? located(section, owner, 'when');
        if (checked.ok || scalar?.kind !== 'scalar') continue;
        reportProblems(report, scalar, checked.problems);
      }
    }
  }
}

/** Every scripted answer with its question and its place. */
function* answersIn({ value, at }: Shaped<ScriptValue>) {
  for (const [about, given] of Object.entries(value.approvals ?? {}))
    for (const [index, answered] of (Array.isArray(given) ? given : [given]).entries()) {
      const place = Array.isArray(given) ? at('approvals', about, index) : at('approvals', about);
      yield { about, place, answered: typeof answered === 'string' ? { choice: answered } : answered };
    }
}

/** An entry without `choice` and `expires` would silently leave the question to a person. */
function checkAnswers(shaped: Shaped<ScriptValue>, report: Report): void {
  for (const { about, place, answered } of answersIn(shaped)) {
    if (answered.choice !== undefined || answered.expires === true) continue;
    report.error('missing-field', place, `the answer to \`${about}\` needs \`choice\``, {
      help: 'For a question that no person answers in time, write `{ expires: true }`.',
    });
  }
}

/** An answer that is not a choice of its question would be refused during the run. */
function checkChoices(shaped: Shaped<ScriptValue>, flow: CompiledFlow, report: Report): void {
  for (const { about, place, answered } of answersIn(shaped)) {
    const { choice } = answered;
    const asks = stopsIn(flow, 'ask').filter(({ names }) => names.includes(about));
    const choices = new Set(asks.flatMap((ask) => ask.choices));
    if (choice === undefined || choices.size === 0 || choices.has(choice)) continue;
    report.error('bad-script', place, `\`${choice}\` is not a choice of \`${about}\``, {
      help: didYouMean(choice, choices, `Choose one of ${[...choices].join(', ')}.`),
    });
  }
}

/** Questions or waits: the names that a script can use, of the node and of its subject, and the choices. */
function stopsIn(flow: CompiledFlow, kind: 'ask' | 'wait') {
  return Object.values<Node>(flow.nodes).flatMap((node) => {
    if (node.op !== 'do') return [];
    const { effect, controls, label } = node;
    if (kind === 'ask') {
      const asks = [...(effect.kind === 'ask' ? [effect] : []), ...(controls === undefined ? [] : asksOf(controls))];
      return asks.map(({ about, choices }) => ({
        names: [label.name, about].flatMap(suffixesOf),
        choices: choices.map(({ name: choice }) => choice),
      }));
    }
    return effect.kind === 'wait' ? [{ names: [label.name, effect.about].flatMap(suffixesOf), choices: [] }] : [];
  });
}

/** The names of the questions of a flow, in a script and in the expectations of a case. */
export function questionNames(flow: CompiledFlow): readonly string[] {
  return stopsIn(flow, 'ask').flatMap(({ names }) => names);
}

function warnOfUnknownNames(shaped: Shaped<ScriptValue>, flow: CompiledFlow, report: Report): void {
  const sections = [
    ['agents', 'agent', Object.values(flow.agents).flatMap((agent) => [agent.id, agent.name])],
    ['tools', 'tool', Object.keys(flow.tools)],
    ['signals', 'wait node', stopsIn(flow, 'wait').flatMap(({ names }) => names)],
    ['approvals', 'question', questionNames(flow)],
  ] as const;
  for (const [section, noun, known] of sections)
    for (const given of Object.keys(shaped.value[section] ?? {})) {
      const near = known.includes(given) ? undefined : nearest(given, known);
      if (near === undefined) continue;
      const message = `flow \`${flow.id}\` has no ${noun} \`${given}\``;
      report.warning('bad-script', shaped.key(section, given), message, { help: `Did you mean \`${near}\`?` });
    }
}
