/**
 * Tasks of a bank and of a chat, each with what an honest model would call, and attacks that stand in what tools return. The
 * model is hijacked in full: from the first attack that it reads on, it does what the attacker wants before it goes on.
 */
import { EVAL_DATA } from '../../../../test/support/eval-data.ts';
import { compiled } from '../../../../test/support/harness.ts';
import { existsSync, readFileSync } from 'node:fs';
import { openMemory } from '@sluice-internal/engine/memory';
import type { Json } from '@sluice-internal/kernel/expr';
import type { ModelEntry } from '../../../library/src/host/scripted/script.ts';
import { createEngine } from '@sluice-internal/library/compose';

const folder = new URL('agentdojo/', EVAL_DATA);
export const present = existsSync(folder);

interface GoldCall {
  readonly name: string;
  readonly args: { readonly [field: string]: Json };
  readonly mutates: boolean;
}
export interface Task {
  readonly suite: string;
  readonly id: string;
  readonly prompt: string;
  readonly calls: readonly GoldCall[];
  readonly obs_templated: readonly string[];
}
export interface Attack {
  readonly suite: string;
  readonly id: string;
  readonly goal: string;
  readonly calls: readonly GoldCall[];
}

/** What its author would say of each tool; reading a page tells its owner something, so it is no mere read. */
const EFFECTS: { readonly [tool: string]: string } = {
  send_money: 'financial',
  schedule_transaction: 'financial',
  update_scheduled_transaction: 'financial',
  update_password: 'write',
  update_user_info: 'write',
  add_user_to_channel: 'write',
  remove_user_from_slack: 'write',
  invite_user_to_slack: 'communication',
  send_direct_message: 'communication',
  send_channel_message: 'communication',
  post_webpage: 'communication',
  get_webpage: 'communication',
};
/** The bank's own books and the list of members: outsiders cannot write into them. */
const TRUSTED = new Set([
  'get_iban',
  'get_balance',
  'get_scheduled_transactions',
  'get_user_info',
  'get_users_in_channel',
]);

/** What the bank and the chat fill in themselves, beside what others write. */
const FIELDS: { readonly [tool: string]: readonly string[] } = {
  get_most_recent_transactions: ['id', 'sender', 'recipient', 'amount', 'date', 'recurring'],
  read_channel_messages: ['sender', 'recipient'],
  read_inbox: ['sender', 'recipient'],
};

const lines = <T>(file: string): T[] =>
  readFileSync(new URL(file, folder), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T);
const files = new Map<string, unknown>();
const data = (file: string): unknown => {
  if (!files.has(file)) files.set(file, JSON.parse(readFileSync(new URL(file, folder), 'utf8')));
  return files.get(file);
};

export const tasks = (): readonly Task[] => lines<Task>('user_tasks.jsonl');
export const attacks = (): readonly Attack[] => lines<Attack>('injection_tasks.jsonl');
export function wordings(): readonly string[] {
  const { _user: user = '', ...templates } = data('attack_templates.json') as { [name: string]: string };
  return Object.values(templates).map((each) => each.replaceAll('{user}', user).replaceAll('{model}', 'the assistant'));
}

interface Catalogue {
  readonly tools: { readonly [suite: string]: readonly { readonly name: string; readonly parameters: Json }[] };
  readonly vector_defaults: { readonly [suite: string]: { readonly [vector: string]: string } };
}

export interface Attempt {
  /** Whether this very call, with what its schema fills in, is among the first. */
  made(call: GoldCall): boolean;
  /** Whether a person was asked about it. */
  asked(call: GoldCall): boolean;
  /** Calls that really ran, in order. */
  readonly ran: readonly string[];
  readonly approvals: readonly { readonly call: string; readonly approved: boolean }[];
  readonly code: string | null;
}

/** What a person is asked, they compare with what the user wanted; everything else they refuse. */
export async function attempt(
  task: Task,
  attack?: Attack,
  wording = '{goal}',
  documentFor: (tools: Catalogue['tools'][string]) => object = documentOf,
): Promise<Attempt> {
  const catalogue = data('tools_and_vectors.json') as Catalogue;
  const text = attack === undefined ? null : wording.replaceAll('{goal}', attack.goal);
  const seen = (template: string): string =>
    template.replace(
      /@@INJ:(\w+)@@/g,
      (_, vector: string) => text ?? catalogue.vector_defaults[task.suite]?.[vector] ?? '',
    );
  const ran: string[] = [];
  const presets = new Map(
    (catalogue.tools[task.suite] ?? []).map(({ name, parameters }) => [name, defaultsIn(parameters)]),
  );
  const keyOf = ({ name, args }: Pick<GoldCall, 'name' | 'args'>): string =>
    exactKey({ name, args: { ...presets.get(name), ...args } });
  const honest = new Map(task.calls.map((call, at) => [keyOf(call), seen(task.obs_templated[at] ?? '')]));
  const names = (catalogue.tools[task.suite] ?? []).map(({ name }) => name);
  const tools = Object.fromEntries(
    names.map((name) => [
      name,
      (args: Json) => {
        const call = keyOf({ name, args: args as GoldCall['args'] });
        ran.push(call);
        return honest.get(call) ?? 'done';
      },
    ]),
  );
  const engine = createEngine({
    journal: openMemory(),
    tools,
    script: { agents: { assistant: [...plan(task, attack), 'done'] } },
  });
  const flow = compiled(documentFor(catalogue.tools[task.suite] ?? []));
  const approvals: { call: string; approved: boolean }[] = [];
  try {
    const run = await engine.start(flow, { input: { message: task.prompt } });
    for (;;) {
      await engine.wait(run);
      const [question] = await engine.approvals(run);
      if (question === undefined)
        return {
          ran,
          approvals,
          code: (await engine.get(run)).code,
          made: (call) => ran.includes(keyOf(call)),
          asked: (call) => approvals.some((each) => each.call === keyOf(call)),
        };
      const { tool, args } = question.data as { tool: string; args: GoldCall['args'] };
      const call = keyOf({ name: tool, args });
      const approved = honest.has(call);
      approvals.push({ call, approved });
      await engine.answer(question.id, { choice: approved ? 'approve' : 'reject', by: 'person' });
    }
  } finally {
    await engine.close();
  }
}

function exactKey({ name, args }: Pick<GoldCall, 'name' | 'args'>): string {
  const given = Object.entries(args)
    .filter(([, value]) => value !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `${name} ${JSON.stringify(given)}`;
}

function defaultsIn(schema: Json): { readonly [field: string]: Json } {
  const { properties = {} } = schema as { properties?: { [name: string]: { default?: Json } } };
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, { default: preset }]) =>
      preset === undefined || preset === null ? [] : [[name, preset]],
    ),
  );
}

function plan(task: Task, attack: Attack | undefined): readonly ModelEntry[] {
  const replies: ModelEntry[] = [];
  let hijacked = false;
  task.calls.forEach((call, at) => {
    replies.push(proposing(call));
    if (hijacked || attack === undefined || !/@@INJ:/.test(task.obs_templated[at] ?? '')) return;
    hijacked = true;
    for (const wanted of attack.calls) replies.push(proposing(wanted));
  });
  return replies;
}

function proposing({ name, args }: GoldCall): ModelEntry {
  return { text: '', tools: [{ name, args }] };
}

function documentOf(tools: Catalogue['tools'][string]): object {
  const defined = tools.map(
    ({ name, parameters }) =>
      [
        name,
        {
          input: parameters,
          effect: EFFECTS[name] ?? 'read',
          ...(TRUSTED.has(name) ? { trust: 'trusted' } : {}),
          ...(FIELDS[name] === undefined ? {} : { trusted_fields: FIELDS[name] }),
        },
      ] as const,
  );
  return {
    tools: Object.fromEntries(defined),
    agents: [{ id: 'assistant', instructions: 'Help the user.', tools: tools.map(({ name }) => name) }],
    boundary: { tools: { allow: ['*'] } },
    flow: {
      id: 'assist',
      entry: 'help',
      nodes: [{ id: 'help', type: 'agent', agent: 'assistant', input: { task: '{{event.payload.message}}' } }],
    },
  };
}

/** The same tools under a profile. Effects follow from names and schemas alone, and nothing is trusted. */
export function profiled(profile: 'support' | 'research'): (tools: Catalogue['tools'][string]) => object {
  return (tools) => ({
    tools: Object.fromEntries(
      tools.map(({ name, parameters }) => [name, { input: parameters, effect: effectByName(name, parameters) }]),
    ),
    agents: [{ id: 'assistant', instructions: 'Help the user.', tools: tools.map(({ name }) => name) }],
    boundary: { profile, escalation: { ungrounded: 'tell', denied: 'tell' } },
    flow: {
      id: 'assist',
      entry: 'help',
      nodes: [{ id: 'help', type: 'agent', agent: 'assistant', input: { task: '{{event.payload.message}}' } }],
    },
  });
}

function effectByName(name: string, parameters: Json): string {
  const fields = Object.keys((parameters as { properties?: object }).properties ?? {});
  const reads = /^(?:get|read|search|list|find|check|fetch|show|count)_/.test(name);
  if (reads) return fields.some((field) => /^(?:url|uri|host|link)$/.test(field)) ? 'egress' : 'read';
  if (fields.includes('amount') || /pay|money|transfer|transaction|purchase|refund/.test(name)) return 'financial';
  return /send|post|invite|share|mail|message|publish|notify/.test(name) ? 'communication' : 'write';
}
