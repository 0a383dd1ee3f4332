/**
 * A team that does its work and slips. Each kind of slip has a chance at each of its opportunities. The model does what a correction
 * names, and believes the rest of what it said.
 */
import type { ModelFunction, ModelReply } from '@sluice-internal/library';
import { WORDS, type Role, type Strategy } from './teams.ts';
import type { Repo } from './repos.ts';

/** Every kind of slip, and when it can happen. */
export const SLIPS = {
  'no-keyword': 'the last message has no keyword',
  dressed: 'the keyword stands in a heading, in a sentence or between marks',
  'other-keyword': 'the message has a second keyword, or only one of another role',
  'bad-handoff': 'the handoff call has other arguments than its schema',
  think: 'a `<think>` block with a keyword comes before the message',
  'no-run': 'the model says that the tests passed, and did not run them',
  'no-write': 'the model shows a file in its message, and does not write it',
  'late-write': 'a file is written once more after the tests ran',
  'bad-arguments': 'a tool call lacks its arguments',
  'bad-brief': 'the brief is almost JSON, or has vacuous fields',
  'bad-report': 'the report has no command, or another one than was run',
  'wrong-code': 'the first version of the code is wrong',
} as const;
export type Slip = keyof typeof SLIPS;
export type Chances = { readonly [slip in Slip]?: number };

export const everySlip = (chance: number): Chances =>
  Object.fromEntries(Object.keys(SLIPS).map((slip) => [slip, chance]));

/** What a role does before it hands on. */
type Step = 'brief' | 'write' | 'run' | 'report';
const STEPS: { readonly [role in Role]: readonly Step[] } = {
  Planner: ['brief'],
  Developer: ['write', 'run'],
  Tester: ['run', 'report'],
  Reviewer: ['run'],
};
const BRIEF = '.fuseraft/artifacts/brief.json';
const REPORT = '.fuseraft/artifacts/test-report.json';

export interface Sloppy {
  readonly model: ModelFunction;
  /** How often each slip happened. */
  readonly slipped: ReadonlyMap<Slip, number>;
}

export function sloppyTeam(repo: Repo, strategy: Strategy, chances: Chances, seed: number): Sloppy {
  const slipped = new Map<Slip, number>();
  const random = randomFrom(seed * 2 + (repo.name.length % 2));
  const slips = (slip: Slip): boolean => {
    const does = random() < (chances[slip] ?? 0);
    if (does) slipped.set(slip, (slipped.get(slip) ?? 0) + 1);
    return does;
  };
  const minds = new Map<Role, Mind>();
  let speaker: Role | null = null;
  const model: ModelFunction = ({ agent, messages }) => {
    const role = agent.id as Role;
    const last = messages.at(-1);
    const mind = minds.get(role) ?? new Mind(role, repo, strategy, slips, random);
    minds.set(role, mind);
    if (last?.role !== 'tool') {
      if (speaker !== role) mind.enter();
      else mind.correct(last?.content ?? '');
    } else mind.read(last.content);
    speaker = role;
    return mind.act();
  };
  return { model, slipped };
}

class Mind {
  readonly #role: Role;
  readonly #repo: Repo;
  readonly #strategy: Strategy;
  readonly #slips: (slip: Slip) => boolean;
  readonly #random: () => number;
  /** What it believes to have done since it got the word. */
  readonly #done = new Set<Step>();
  #pending: Step | null = null;
  #wrong = false;
  #shown = '';
  #late = false;
  /** True if a tester or a reviewer saw the tests fail. */
  #broken = false;
  #approved = false;

  constructor(role: Role, repo: Repo, strategy: Strategy, slips: (slip: Slip) => boolean, random: () => number) {
    this.#role = role;
    this.#repo = repo;
    this.#strategy = strategy;
    this.#slips = slips;
    this.#random = random;
  }

  enter(): void {
    this.#done.clear();
    this.#late = false;
    this.#broken = false;
  }

  /** The steps that a correction names are done again. */
  correct(text: string): void {
    this.#approved &&= text === 'It is your turn again.';
    const names: { readonly [step in Step]: RegExp } = {
      brief: /brief/i,
      write: /write_file|not written|not on disk|no longer on disk|asserts nothing/i,
      run: /shell_run|run it|never run|out of date|no command|has not/i,
      report: /report/i,
    };
    for (const step of STEPS[this.#role]) if (names[step].test(text)) this.#done.delete(step);
    if (!this.#done.has('run') && this.#role === 'Tester') this.#done.delete('report');
  }

  /** A result of a tool: a failed call or a failed test means that the step is not done. */
  read(result: string): void {
    if (this.#pending === null) return;
    const failed = /ArgumentError|not valid|"exitCode": ?[1-9]|FAIL/.test(result);
    if (!failed) this.#done.add(this.#pending);
    if (/"exitCode": ?[1-9]/.test(result) && this.#role !== 'Developer') this.#broken = true;
    if (failed && this.#pending === 'run' && this.#role === 'Developer') {
      this.#done.delete('write');
      this.#wrong = false;
    }
    this.#pending = null;
  }

  act(): ModelReply {
    for (const step of STEPS[this.#role]) {
      if (this.#done.has(step) || this.#broken) continue;
      const call = this.#step(step);
      if (call !== null) return call;
    }
    if (this.#late) {
      this.#late = false;
      return this.#write(this.#wrong);
    }
    return this.#speak();
  }

  /** Null if the model only says that it did the step. */
  #step(step: Step): ModelReply | null {
    const { command } = this.#repo;
    if (step !== 'report' && this.#slips('bad-arguments')) {
      this.#pending = step;
      return called(step === 'run' ? 'shell_run' : 'write_file', {});
    }
    this.#pending = step;
    switch (step) {
      case 'brief':
        return called('write_file', { path: BRIEF, content: this.#brief() });
      case 'write':
        if (this.#slips('no-write')) return this.#claim(step, `\`\`\`\n${this.#repo.right}\`\`\``);
        this.#wrong = this.#slips('wrong-code');
        return this.#write(this.#wrong);
      case 'run':
        if (this.#slips('no-run')) return this.#claim(step, 'All tests pass.');
        this.#late = this.#role === 'Developer' && this.#slips('late-write');
        return called('shell_run', { command });
      default:
        return called('write_file', { path: REPORT, content: this.#report() });
    }
  }

  #claim(step: Step, words: string): null {
    this.#done.add(step);
    this.#pending = null;
    this.#shown = words;
    return null;
  }

  #write(wrong: boolean): ModelReply {
    const { source, right, wrong: other } = this.#repo;
    return called('write_file', { path: source, content: wrong ? other : right });
  }

  #oneOf<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)] as Item;
  }

  #brief(): string {
    const brief = {
      goal: 'The test passes.',
      files_to_change: [this.#repo.source],
      acceptance_criteria: ['the test passes'],
      verify_command: this.#repo.command,
    };
    if (!this.#slips('bad-brief')) return JSON.stringify(brief);
    const bad = [
      JSON.stringify(brief).replace('}', ',}'),
      JSON.stringify({ ...brief, files_to_change: this.#repo.source }),
      JSON.stringify({ ...brief, files_to_change: [] }),
      JSON.stringify({ ...brief, acceptance_criteria: [''] }),
      `\uFEFF${JSON.stringify(brief)}`,
    ];
    return this.#oneOf(bad);
  }

  #report(): string {
    const { command } = this.#repo;
    const result = { criterion: 'the test passes', status: 'PASS', command, exit_code: 0 };
    if (!this.#slips('bad-report')) return JSON.stringify({ results: [result], fake_test_files: [] });
    const { command: _, ...bare } = result;
    const bad = [bare, { ...result, command: `${command} --all` }, { ...result, status: 'passed' }];
    return JSON.stringify({ results: [this.#oneOf(bad)] });
  }

  #speak(): ModelReply {
    const isSummary = this.#strategy === 'statemachine' && this.#role === 'Reviewer' && this.#approved;
    if (isSummary) return { text: 'SUMMARY: the work is done.' };
    const [good, ...back] = WORDS[this.#role];
    const [word, others] = this.#broken ? [back[0] ?? good, [good]] : [good, back];
    const words = this.#words();
    if (this.#random() < 0.5) {
      const bad = this.#slips('bad-handoff');
      if (!bad && word === 'APPROVED') this.#approved = true;
      const wrong: { [field: string]: string }[] = [{ keyword: word }, { route_keyword: `${word} NOW` }];
      const args = bad ? this.#oneOf(wrong) : { route_keyword: word };
      return { ...called('handoff', args), text: words.trim() };
    }
    const said = this.#said(word, others);
    const thought = this.#slips('think') ? `<think>\nShould I say it?\n${others[0] ?? word}\n</think>\n` : '';
    if (said === 'APPROVED') this.#approved = true;
    return { text: `${thought}${words}${said}` };
  }

  /** What stands before the keyword. */
  #words(): string {
    const shown = this.#shown === '' ? '' : `${this.#shown}\n`;
    this.#shown = '';
    if (this.#role !== 'Reviewer' || this.#broken) return shown;
    const review = [{ criterion: 'the test passes', verdict: 'PASS', evidence: `I ran ${this.#repo.command}.` }];
    return `${shown}${JSON.stringify({ review })}\n`;
  }

  #said(word: string, others: readonly string[]): string {
    if (this.#slips('no-keyword')) return 'The work is complete.';
    if (this.#slips('dressed'))
      return this.#oneOf([
        `## ${word}`,
        `I think this is ready for ${word}, if you agree.`,
        `\`${word}\``,
        `[${word}]`,
      ]);
    const foreign = this.#role === 'Planner' ? 'APPROVED' : 'HANDOFF TO DEVELOPER';
    if (this.#slips('other-keyword')) return this.#oneOf([`${word}\n${others[0] ?? foreign}`, foreign]);
    return word;
  }
}

function called(name: string, args: { readonly [field: string]: string }): ModelReply {
  return { text: '', toolCalls: [{ name, args }] };
}

/** Random numbers from a seed: mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
