/**
 * Draws the pages in a browser: all of them, in both themes and two widths, into `pictures/`, which git does not keep; those that the
 * documentation shows into `docs/studio/`. The runs are real: a server of its own plays the flows of `test/studio/flows` and the examples.
 *
 *   npm run pictures
 */
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { EXAMPLES, folder, freePort, openBrowser, person, remove, serve, type Site } from '../test/studio/kit.ts';
import { root } from './tool.ts';

const OUT = join(root, 'pictures');
const DOCS = join(root, 'docs/studio');
const WIDTHS = [1440, 320] as const;
const KIB_MAX = 200;

type Theme = 'light' | 'dark';
const THEMES: readonly Theme[] = ['light', 'dark'];

interface Shot {
  readonly name: string;
  readonly path: string;
  /** What is done before the picture is taken. */
  readonly act?: (page: Page) => Promise<void>;
  /** The documentation shows it in these themes. */
  readonly shown?: readonly Theme[];
}

const dir = folder();
const port = await freePort();
const machine = await serve(dir, port);
const message = 'My card was charged €184.90 for order A-1042 and nothing ever arrived';
const disputed = await machine.start('chargeback', 'chargeback', { message }, { user: 'mila' });
const rounds = await machine.start('rounds', 'rounds', {});
const others: string[] = [];
for (const { flow, script, input } of EXAMPLES) others.push(await machine.start(flow, script, input));
const [refund = ''] = others;
const { run: fork } = await machine.ask<{ readonly run: string }>(`/runs/${refund}/fork`, {
  at: 7,
  set: { triage: { output: { category: 'tech' } } },
});
await machine.start('desk', 'desk', 'The kettle leaks: a refund, please', { user: 'tom' });
const { waiting } = await machine.ask<{ readonly waiting: readonly { readonly id: string }[] }>(`/runs/${disputed}`);
const question = waiting[0]?.id ?? '';
await machine.end();
const site = await serve(dir, port, '--as', 'anna');
const browser = await openBrowser();
try {
  for (const folderName of [OUT, DOCS]) {
    mkdirSync(folderName, { recursive: true });
    // The recording of a terminal lies beside the pictures, and is not made here.
    for (const file of readdirSync(folderName)) if (file.endsWith('.png')) rmSync(join(folderName, file));
  }
  for (const colorScheme of THEMES) for (const width of WIDTHS) await draw(site, colorScheme, width);
} finally {
  await browser.close();
  await site.end();
  remove(dir);
}

function shots(): readonly Shot[] {
  return [
    { name: 'runs', path: '/runs', shown: ['light'] },
    { name: 'run', path: `/runs/${disputed}`, shown: THEMES },
    { name: 'confirm', path: `/runs/${disputed}`, act: pressApprove, shown: ['light'] },
    { name: 'slider', path: `/runs/${disputed}?at=40`, shown: ['light'] },
    { name: 'prompts', path: `/runs/${refund}?tab=prompts&call=0%230`, shown: ['light'] },
    { name: 'output', path: `/runs/${refund}?tab=output` },
    { name: 'journal', path: `/runs/${rounds}?tab=journal&at=60` },
    { name: 'loop', path: `/runs/${rounds}` },
    { name: 'compare', path: `/runs/${refund}/compare/${fork}`, shown: ['light'] },
    ...EXAMPLES.map(({ flow }, at) => ({ name: `run-${flow}`, path: `/runs/${others[at] ?? ''}` })),
    { name: 'inbox', path: `/inbox?q=${question}`, shown: THEMES },
    { name: 'flows', path: '/flows' },
    { name: 'flow', path: '/flows/chargeback', shown: ['light'] },
    { name: 'health', path: '/health' },
    { name: 'audit', path: '/audit' },
    { name: 'missing', path: '/runs/r_none' },
  ];
}

async function pressApprove(page: Page): Promise<void> {
  await page.waitForTimeout(500);
  await page.keyboard.press('a');
  await page.getByRole('dialog').waitFor();
}

async function draw(at: Site, colorScheme: Theme, width: number): Promise<void> {
  const viewport = { width, height: width === 320 ? 720 : 900 };
  const options = { viewport, colorScheme, reducedMotion: 'reduce', deviceScaleFactor: 1 };
  const { page, context, bad } = await person(browser, at, options);
  for (const { name, path, act, shown = [] } of shots()) {
    await page.goto(at.url + path);
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
    await page.waitForTimeout(500);
    await act?.(page);
    await page.screenshot({ path: join(OUT, `${name}-${colorScheme}-${width}.png`), fullPage: width === 320 });
    if (width !== 320 && shown.includes(colorScheme)) await show(page, `${name}-${colorScheme}`);
  }
  if (bad.length > 0) throw new Error(bad.join('\n'));
  await context.close();
}

async function show(page: Page, name: string): Promise<void> {
  const path = join(DOCS, `${name}.png`);
  await page.screenshot({ path });
  const kib = Math.ceil(statSync(path).size / 1024);
  if (kib > KIB_MAX) throw new Error(`${name}.png has ${kib} KiB, and may have ${KIB_MAX}`);
}
