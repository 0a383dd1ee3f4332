/** `sluice graph`: draws the flow. A document with mistakes is drawn as far as it can be read. */
import { renderDot, renderMermaid, renderSvg } from '@sluice-internal/compile/picture';
import type { Direction, Picture } from '@sluice-internal/compile/picture';
import { FAILED, OK, compileFile, failedCompile, renderAll } from '@sluice-internal/library/documents';
import type { Cli, ExitStatus } from '@sluice-internal/library/documents';
import { existsSync } from 'node:fs';
import { readRun } from '@sluice-internal/engine/journal';
import { storyOf } from '@sluice-internal/engine/report';
import { withRun, withStore } from '../session/store.ts';
import { pictureOfRun } from '../view/run-picture.ts';
import type { Options } from '../table/command-table.ts';

export async function graphCommand(
  cli: Cli,
  file: string,
  { format, direction }: Options<'graph'>,
): Promise<ExitStatus> {
  if (!existsSync(file) && (await isRun(cli, file))) return graphOfRun(cli, file, { format, direction });
  const compiled = await compileFile(file);
  const { graph, ok, diagnostics } = compiled.result;
  if (graph === undefined) throw failedCompile(compiled);
  if (!ok) cli.screen.note(renderAll(diagnostics, compiled.text, cli.screen, file));
  print(cli, graph, { format, direction });
  return ok ? OK : FAILED;
}

/** A file wins over a run of the same name. */
async function isRun(cli: Cli, id: string): Promise<boolean> {
  return existsSync(cli.db) && (await withStore(cli, async ({ index }) => (await index.find(id)) !== null));
}

/** Draws the way that a run took. */
async function graphOfRun(cli: Cli, id: string, how: Drawn): Promise<ExitStatus> {
  return withRun(cli, id, async ({ journal }, run) => {
    const read = await readRun(journal, run);
    const code = read.state.outcome?.code ?? null;
    print(cli, pictureOfRun(read.program.flow, run, code, storyOf(read)), how);
    return OK;
  });
}

type Drawn = Pick<Options<'graph'>, 'format' | 'direction'>;

function print(cli: Cli, graph: Picture, { format, direction }: Drawn): void {
  if (cli.json || format === 'json') cli.printJson(graph);
  else cli.screen.printData(RENDERERS[format](graph, direction).trimEnd());
}

const RENDERERS: {
  readonly [format in 'mermaid' | 'dot' | 'svg']: (picture: Picture, direction: Direction) => string;
} = {
  mermaid: renderMermaid,
  dot: renderDot,
  svg: renderSvg,
};
