/** Plays one session of a team on a copy of a repository, with real files, a real sandbox and real gates, and judges the work itself. */
import { rmSync } from 'node:fs';
import { compile, createEngine, openMemory, type ModelFunction } from '@sluice-internal/library';
import { cheatingTeam, type Cheat } from './cheats.ts';
import { sloppyTeam, type Chances, type Slip } from './model.ts';
import { copyOf, isDone, type Repo } from './repos.ts';
import { teamOf, type Strategy } from './teams.ts';

export interface Played {
  readonly code: string | null;
  readonly state: string;
  /** True if the work was really done, whatever the session says. */
  readonly done: boolean;
  readonly message: string;
  readonly path: readonly string[];
}

export async function playSloppy(
  strategy: Strategy,
  repo: Repo,
  chances: Chances,
  seed: number,
): Promise<Played & { readonly slipped: ReadonlyMap<Slip, number> }> {
  const { model, slipped } = sloppyTeam(repo, strategy, chances, seed);
  return { ...(await play(teamOf(strategy, repo), repo, model)), slipped };
}

/** The gate of the developer asks for little, so that the cheat reaches the gates after it. */
export function playCheat(strategy: Strategy, repo: Repo, cheat: Cheat, seed: number): Promise<Played> {
  return play(teamOf(strategy, repo, cheat !== 'says'), repo, cheatingTeam(repo, cheat, seed));
}

async function play(document: object, repo: Repo, model: ModelFunction): Promise<Played> {
  const workDir = copyOf(repo);
  const { flow, diagnostics } = compile(document);
  if (flow === undefined) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  const engine = createEngine({ journal: openMemory(), model, toolOptions: { workDir } });
  try {
    const run = await engine.run(flow, { input: 'Make the test pass.' });
    await run.waiting();
    const { code, state, error, path } = await run.report();
    return { code: code ?? null, state, done: isDone(repo, workDir), message: error?.message ?? '', path };
  } finally {
    await engine.close();
    rmSync(workDir, { recursive: true, force: true });
  }
}

/** True if the session says that it did what it did not do. */
export function isFalse({ code, done }: Played): boolean {
  return (code === 'SUCCESS' || code === 'PARTIAL_SUCCESS') && !done;
}
