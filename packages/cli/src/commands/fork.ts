/** `sluice fork`: starts a new run that shares the events of another up to one of them, with edits, and follows it. */
import { checkedJson, present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { AgentEdit } from '@sluice-internal/library/host';
import { readText, readWhole, usage } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { currentUser } from '../session/ask-person.ts';
import type { Options } from '../table/command-table.ts';
import { acceptedCode, withRunSession } from '../session/continue-run.ts';
import { followToResult } from '../session/follow.ts';
import { findRun } from '../session/store.ts';

export async function forkCommand(cli: Cli, given: string, options: Options<'fork'>): Promise<ExitStatus> {
  const at = readWhole('--at', options.at) ?? 0;
  const set = pairs('--set', options.set);
  const answers = pairs('--answer', options.answer);
  const agents = agentEdits(options);
  return withRunSession(cli, findRun, given, options, async (session, { run: parent, program, state }) => {
    const modules = acceptedCode(parent, state, options);
    const { id: run } = await session.engine.fork(parent, {
      at,
      by: options.as ?? currentUser(),
      set: valuesOf(set, program.flow.notation === 'flow'),
      answers: Object.fromEntries(answers.map(([name, choice]) => [name, { choice }])),
      agents,
      ...present({ run: options.run, modules }),
    });
    const { state: forked } = await session.open(run);
    const last = forked.origin.parent?.seq ?? at;
    const why = last === at ? '' : `, the end of the step of event ${at}`;
    cli.hint(`run ${run} forks ${parent} at event ${last}${why}`);
    return followToResult(cli, session, run, last);
  });
}

type Pair = readonly [name: string, value: string];

/** The form of the values of each option, and an example. */
const FORMS = {
  '--set': ['SLOT=JSON', `'input={"message": "hello"}'`],
  '--answer': ['QUESTION=CHOICE', 'gate=approve'],
  '--agent-model': ['AGENT=MODEL', 'triage_bot=openai/gpt-5-mini'],
  '--instructions': ['AGENT=TEXT', "'triage_bot=Answer in one word.'"],
} as const;

function pairs(option: keyof typeof FORMS, given: readonly string[] = []): readonly Pair[] {
  return given.map((text) => {
    const at = text.indexOf('=');
    if (at <= 0)
      throw usage(
        `\`${option}\` takes ${FORMS[option][0]}, not \`${text}\``,
        `Write it as ${option} ${FORMS[option][1]}`,
      );
    return [text.slice(0, at).trim(), text.slice(at + 1)];
  });
}

/** As in `run --input`, text becomes the `message` of a graph flow's event. */
function valuesOf(set: readonly Pair[], isFlow: boolean): { readonly [slot: string]: Json } {
  const values = set.map(([slot, text]): readonly [string, Json] => {
    const value = parsed(slot, text);
    return [slot, slot === 'input' && isFlow && typeof value === 'string' ? { message: value } : value];
  });
  return Object.fromEntries(values);
}

/** Text without quotes is taken as text, unless it begins like an object, a list or a text in quotes. */
function parsed(slot: string, text: string): Json {
  try {
    return checkedJson(text);
  } catch (error) {
    if (!/^\s*[[{"]/.test(text)) return text;
    throw usage(
      `\`--set ${slot}\` takes JSON: ${error instanceof Error ? error.message : 'not valid JSON'}`,
      `Quote it for the shell: --set '${slot}={"category": "tech"}'`,
    );
  }
}

function agentEdits({ agentModel, instructions }: Options<'fork'>): { readonly [agent: string]: AgentEdit } {
  const edits: { [agent: string]: AgentEdit } = {};
  for (const [agent, model] of pairs('--agent-model', agentModel)) edits[agent] = { model };
  for (const [agent, text] of pairs('--instructions', instructions))
    edits[agent] = { ...edits[agent], instructions: text.startsWith('@') ? readText(text.slice(1)) : text };
  return edits;
}
