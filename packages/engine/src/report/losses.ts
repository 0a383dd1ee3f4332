/** What a run lost: items, branches and nodes that failed, and replies that a fixed answer replaced. Derived from the journal alone. */
import type { Program } from '@sluice-internal/kernel/core';
import type { Event, ForkNode, ThreadId } from '@sluice-internal/kernel/ir';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { StoryEvent } from '@sluice-internal/wire';
import type { BranchError, Loss } from '../ports/types.ts';
import { nameAt } from './authored.ts';
import { createNarrator, storyLog } from './narrate.ts';
import { failsNode } from './trouble-text.ts';

type Of<Type extends Event['type']> = Extract<Event, { readonly type: Type }>;
type Error = Loss['error'];

interface Found {
  readonly thread: ThreadId;
  /** The document's name of the node that failed. */
  readonly node: string;
  readonly error: Error;
  /** The node at which the thread went on. */
  next?: string;
  /** The innermost fork that it belongs to, and if that failed with it. */
  join?: { readonly node: string; readonly fatal: boolean };
  readonly why?: string;
}

interface FailedBranch {
  readonly index: number;
  readonly name: string;
  readonly error: Error;
}

interface Fork {
  readonly id: string;
  readonly node: ForkNode;
  /** The ids of the branches start with it. */
  readonly prefix: string;
}

export interface Losses {
  readonly losses: readonly Loss[];
  /** The failed branches of each join that was not met, by the message of its error. */
  readonly branches: ReadonlyMap<string, readonly BranchError[]>;
}

export function lossesOf(program: Program, events: readonly Event[]): Losses {
  const reader = new Reader(program);
  for (const event of events) reader.take(event);
  return { losses: reader.losses(), branches: reader.branches };
}

class Reader {
  readonly branches = new Map<string, readonly BranchError[]>();
  readonly #program: Program;
  readonly #log: ReturnType<typeof storyLog>;
  readonly #narrate: (event: Event) => readonly StoryEvent[];
  #found: Found[] = [];
  /** By the prefix of their branches. */
  readonly #forks = new Map<string, Fork>();
  /** The last fork of each thread, and if its join failed. */
  readonly #last = new Map<ThreadId, { readonly fork: Fork; failed?: string }>();

  constructor(program: Program) {
    this.#program = program;
    this.#log = storyLog(program);
    this.#narrate = createNarrator(program, this.#log);
  }

  take(event: Event): void {
    for (const each of this.#narrate(event)) this.#tell(each);
    if (event.type === 'thread.forked') this.#forked(event);
    if (event.type === 'fork.joined') this.#joined(event);
    if (event.type === 'breaker.denied' && event.fallback === 'answer') this.#stoodIn(event);
  }

  losses(): readonly Loss[] {
    return this.#found.map((found) => {
      const fork = this.#itemOf(found.thread);
      const node = fork === null ? found.node : nameAt(this.#program.flow, fork.fork.id);
      return { node, item: fork?.index ?? null, error: found.error, why: whyOf(found) };
    });
  }

  #forked({ thread, node: id, key }: Of<'thread.forked'>): void {
    const node = this.#program.flow.nodes[id];
    if (node?.op !== 'fork') return;
    const fork = { id, node, prefix: `${key.replace('#', ':')}.` };
    const before = this.#last.get(thread);
    // Another attempt of the same work.
    if (before?.failed !== undefined && before.fork.id === id && isAttempt(node)) this.#forget(before.fork);
    this.#forks.set(fork.prefix, fork);
    this.#last.set(thread, { fork });
  }

  #tell(event: StoryEvent): void {
    if (event.type === 'node.started') {
      const { branch, node } = event;
      const before = this.#found.findLast(({ thread }) => thread === branch);
      if (before !== undefined && before.next === undefined) before.next = node;
      this.#last.delete(branch);
    } else if (event.type === 'node.failed' && event.error !== null) {
      const { branch: thread, node, error } = event;
      const join = this.#last.get(thread);
      // The branches of the join are listed themselves.
      if (join?.failed === error.message && this.#found.some((each) => isIn(each.thread, join.fork))) return;
      this.#found.push({ thread, node, error: { type: error.type, message: error.message } });
    }
  }

  #joined(event: Of<'fork.joined'>): void {
    const last = this.#last.get(event.thread);
    if (last === undefined) return;
    const { fork } = last;
    if (event.error !== undefined && event.why !== 'late') last.failed = event.error.message;
    const fatal = failsNode(this.#program.flow, event, fork.id);
    const join = { node: nameAt(this.#program.flow, fork.id), fatal };
    for (const found of this.#found) if (isIn(found.thread, fork)) found.join ??= join;
    const failed = this.#failedIn(event.thread, fork);
    if (event.error !== undefined && !isAttempt(fork.node))
      this.branches.set(
        event.error.message,
        failed.map(({ name, error: { type, message } }) => ({ branch: name, type, message })),
      );
    if (isAttempt(fork.node) || (fatal && event.unstarted === undefined)) return;
    for (const each of this.#unlisted(fork, failed, event.unstarted !== undefined)) this.#found.push({ ...each, join });
  }

  /** An item can fail before it enters a node, or before it starts. */
  #unlisted(fork: Fork, failed: readonly FailedBranch[], stopped: boolean): Found[] {
    const listed = new Set(
      this.#found.filter((each) => isIn(each.thread, fork)).map(({ thread }) => itemIn(thread, fork)),
    );
    const begun = new Set([...this.#log.calls.values()].map(({ thread }) => itemIn(thread, fork)));
    return failed
      .filter(({ index }) => !listed.has(String(index)))
      .map(({ index, error }) => {
        const isUnstarted = stopped && !begun.has(String(index));
        const why = isUnstarted ? { why: 'it was not started, because a budget stopped an earlier one' } : {};
        return { thread: `${fork.prefix}${index}`, node: nameAt(this.#program.flow, fork.id), error, ...why };
      });
  }

  #failedIn(thread: ThreadId, { node }: Fork): readonly FailedBranch[] {
    const value = this.#log.state?.threads.get(thread)?.slots[node.into];
    const all = (Array.isArray(value) ? value : []) as readonly { readonly [field: string]: Json }[];
    return all.flatMap(({ name, error }, index) => {
      if (!isRecord(error)) return [];
      const { type, message } = error as unknown as Error;
      return [{ index, name: String(name), error: { type, message } }];
    });
  }

  /** A fixed answer took the place of a reply. */
  #stoodIn({ key, breaker }: Of<'breaker.denied'>): void {
    const call = this.#log.calls.get(key);
    if (call === undefined) return;
    const error = { type: 'BreakerOpenError', message: `the circuit breaker ${breaker} is open` };
    this.#found.push({
      thread: call.thread,
      node: call.node,
      error,
      why: 'a fixed answer took the place of its reply',
    });
  }

  #forget(fork: Fork): void {
    this.#found = this.#found.filter(({ thread }) => !isIn(thread, fork));
  }

  /** The map that the thread is an item of, and the number of the item. */
  #itemOf(thread: ThreadId): { readonly fork: Fork; readonly index: number } | null {
    for (let id = thread; id.includes(':'); id = id.slice(0, id.lastIndexOf(':'))) {
      const [, prefix = '', index = ''] = /^(.*\.)(\d+)$/.exec(id) ?? [];
      const fork = this.#forks.get(prefix);
      if (fork !== undefined && 'each' in fork.node.over) return { fork, index: Number(index) };
    }
    return null;
  }
}

/** Several nodes that are tried as one, and a sub-flow, are a fork with one branch. */
function isAttempt({ over }: ForkNode): boolean {
  return 'heads' in over && over.heads.length === 1;
}

function isIn(thread: ThreadId, { prefix }: Fork): boolean {
  return thread.startsWith(prefix);
}

/** The number of the branch that the thread belongs to. */
function itemIn(thread: ThreadId, { prefix }: Fork): string | undefined {
  return thread.startsWith(prefix) ? thread.slice(prefix.length).split(':', 1)[0] : undefined;
}

const CAUSES: { readonly [type: string]: string } = {
  RetryBudgetError: 'the retry budget of all runs was used up, so it was not tried again',
  BudgetError: 'a budget was used up',
  BreakerOpenError: 'a circuit breaker was open',
};

function whyOf({ node, error, next, join, why }: Found): string {
  if (why !== undefined) return why;
  const cause = CAUSES[error.type] ?? `\`${node}\` failed`;
  if (join !== undefined)
    return join.fatal ? `${cause}; \`${join.node}\` failed with it` : `${cause}; the run went on without it`;
  return next === undefined ? `${cause}; the run ended with it` : `${cause}; the run went on at \`${next}\``;
}
