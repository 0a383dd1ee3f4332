/** Reads a script file and checks it as strictly as a document: misspelt keys, agents and choices are reported with their line. */
import * as z from 'zod';
import type { Script } from '../../effects/scripted/script.ts';
import type { Diagnostic, Report } from '../../compile/diagnose/diagnostics.ts';
import { reportProblems } from '../../compile/expressions/problem.ts';
import { checkExpression } from '../../compile/expressions/expression.ts';
import { bool, int, json, list, map, name, number, oneOf, record, text } from '../../compile/document/shape/fields.ts';
import { nearest, didYouMean } from '../../compile/diagnose/nearest.ts';
import { readShape, type Shaped } from '../../compile/document/shape/shape.ts';
import { parseSource } from '../../compile/source/source.ts';
import type { CompiledFlow, Node } from '../../ir/nodes.ts';
import { mistakesIn, renderAll } from './diagnostics.ts';
import { readText } from './files.ts';
import type { Cli } from './context.ts';

export interface ReadScript {
  /** Null if the script has errors. */
  readonly script: Script | null;
  readonly diagnostics: readonly Diagnostic[];
}

/** With a flow, also reports names that the flow does not have. */
export function readScript(source: string, file: string, flow?: CompiledFlow): ReadScript {
  const { doc, report } = parseSource(source, file, SCRIPT);
  const shaped = doc === null ? null : readShape(scriptSchema, doc, report, { what: SCRIPT.what });
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

/** Reads a script from its file. Throws its mistakes. With `cli`, prints its warnings. */
export function loadScript(file: string, flow?: CompiledFlow, cli?: Cli): Script {
  const text = readText(file);
  const { script, diagnostics } = readScript(text, file, flow);
  if (script === null) throw mistakesIn(file, text, diagnostics);
  if (diagnostics.length > 0) cli?.hint(renderAll(diagnostics, text, cli.screen));
  return script;
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
  text: spoken().optional(),
  usage: record({ input: int({ min: 0 }).optional(), output: int({ min: 0 }).optional() }).optional(),
  tools: list(record({ name: name(), args: json().optional() })).optional(),
});
const toolEntry = record({ ...shared, result: json().optional() });
const answerEntry = record({
  choice: spoken().optional(),
  expires: bool().optional(),
  text: text().optional(),
  edit: json().optional(),
  by: z.union([name(), list(name(), { min: 1 })]).optional(),
});
const answer = z.union([spoken(), answerEntry]);

export const scriptSchema = record({
  agents: map(entries(z.union([spoken(), modelEntry]))).optional(),
  tools: map(entries(toolEntry)).optional(),
  approvals: map(z.union([answer, list(answer, { min: 1 })])).optional(),
  signals: map(json()).optional(),
  clock: oneOf(['virtual', 'real']).optional(),
  strict: bool().optional(),
});
type ScriptValue = z.output<typeof scriptSchema>;

/** Text, also if YAML reads it as a number or a boolean, such as `42` or `true`. */
function spoken() {
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

/** An entry without `choice` and `expires` would leave the question to a person without a word. */
function checkAnswers({ value, at }: Shaped<ScriptValue>, report: Report): void {
  for (const [about, given] of Object.entries(value.approvals ?? {}))
    for (const [index, answered] of (Array.isArray(given) ? given : [given]).entries()) {
      if (typeof answered === 'string' || answered.choice !== undefined || answered.expires === true) continue;
      const place = Array.isArray(given) ? at('approvals', about, index) : at('approvals', about);
      report.error('missing-field', place, `the answer to \`${about}\` needs \`choice\``, {
        help: 'For a question that no person answers in time, write `{ expires: true }`.',
      });
    }
}

/** An answer that is not a choice of its question would be refused during the run. */
function checkChoices({ value, at }: Shaped<ScriptValue>, flow: CompiledFlow, report: Report): void {
  for (const [about, given] of Object.entries(value.approvals ?? {})) {
    const asks = Object.values<Node>(flow.nodes).flatMap((node) =>
      node.op === 'do' &&
      node.effect.kind === 'ask' &&
      [node.label.name, node.effect.about].some((each) => each === about || each.endsWith(`/${about}`))
        ? [node.effect]
        : [],
    );
    const choices = new Set(asks.flatMap((ask) => ask.choices.map(({ name }) => name)));
    for (const [index, answered] of (Array.isArray(given) ? given : [given]).entries()) {
      const choice = typeof answered === 'string' ? answered : answered.choice;
      if (choice === undefined || choices.size === 0 || choices.has(choice)) continue;
      const place = Array.isArray(given) ? at('approvals', about, index) : at('approvals', about);
      report.error('bad-script', place, `\`${choice}\` is not a choice of \`${about}\``, {
        help: didYouMean(choice, choices, `Choose one of ${[...choices].join(', ')}.`),
      });
    }
  }
}

const NOUNS = { agents: 'agent', tools: 'tool', signals: 'wait node' } as const;

function innerName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function warnOfUnknownNames(shaped: Shaped<ScriptValue>, flow: CompiledFlow, report: Report): void {
  const agents = new Set(Object.values(flow.agents).flatMap((agent) => [agent.id, agent.name]));
  const tools = new Set(Object.keys(flow.tools));
  const signals = new Set(
    Object.values<Node>(flow.nodes).flatMap((node) =>
      node.op === 'do' && node.effect.kind === 'wait' ? [node.label.name, innerName(node.label.name)] : [],
    ),
  );
  for (const [section, known] of [
    ['agents', agents],
    ['tools', tools],
    ['signals', signals],
  ] as const) {
    for (const given of Object.keys(shaped.value[section] ?? {})) {
      if (known.has(given)) continue;
      const near = nearest(given, known);
      if (near === undefined) continue;
      report.warning(
        'bad-script',
        shaped.key(section, given),
        `flow \`${flow.id}\` has no ${NOUNS[section]} \`${given}\``,
        { help: `Did you mean \`${near}\`?` },
      );
    }
  }
}
