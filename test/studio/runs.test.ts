/** The pages of runs in a browser, over a server of its own with real runs. All tests share one Chromium. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import {
  EXAMPLES,
  folder,
  freePort,
  logIn,
  openBrowser,
  person,
  remove,
  serve,
  violations,
  type Person,
  type Site,
} from './kit.ts';

let browser: Browser;
let site: Site;
let dir: string;
let port: number;
let anna: Person;
let disputed: string;
const runs = new Map<string, string>();

const node = (page: Page, id: string) =>
  page.getByRole('region', { name: 'Graph' }).getByRole('button', { name: new RegExp(`^${id}, `) });
/** What a node is called: its id and its state, as `triage, done`. */
const nameOf = (page: Page, id: string): Promise<string | null> =>
  node(page, id).locator('.visually-hidden').textContent();
const open = async (page: Page, path: string): Promise<void> => {
  await page.goto(site.url + path);
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
};

beforeAll(async () => {
  dir = folder();
  port = await freePort();
  // Who starts a run may not approve it: the runs come from the machine, and Anna looks at them later.
  const machine = await serve(dir, port);
  const message = 'My card was charged €184.90 for order A-1042 and nothing ever arrived';
  [disputed] = await Promise.all([
    machine.start('chargeback', 'chargeback', { message }, { user: 'mila' }),
    ...EXAMPLES.map(async ({ flow, script, input }) => void runs.set(flow, await machine.start(flow, script, input))),
    (async () => void runs.set('rounds', await machine.start('rounds', 'rounds', {})))(),
    (async () => void runs.set('many', await machine.start('many', 'rounds', {})))(),
  ]);
  await machine.end();
  site = await serve(dir, port, '--as', 'anna');
  browser = await openBrowser();
  anna = await person(browser, site);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await site?.end();
  if (dir !== undefined) remove(dir);
});

test('the list has a link for each run, filters by the address, and opens by key', async () => {
  const { page } = anna;
  await open(page, '/runs');
  for (const run of [disputed, ...runs.values()]) await page.getByRole('link', { name: run, exact: true }).waitFor();
  await page.getByLabel('State').selectOption('suspended');
  await expect.poll(() => new URL(page.url()).search).toBe('?status=suspended');
  await expect.poll(() => page.getByRole('list', { name: 'Runs' }).getByRole('link').count()).toBe(1);
  await page.reload();
  await expect.poll(() => page.getByRole('list', { name: 'Runs' }).getByRole('link').count()).toBe(1);
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForURL(new RegExp(`/runs/${disputed}$`));
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.waitForURL(/\/runs$/);
});

test('a run says where it is: the graph, the budgets, the timeline, the story with its controls', async () => {
  const { page } = anna;
  await open(page, `/runs/${disputed}`);
  await expect.poll(() => nameOf(page, 'read_dispute')).toBe('read_dispute, done');
  expect(await nameOf(page, 'delivery')).toBe('delivery, done, 1 retry');
  expect(await nameOf(page, 'fraud')).toBe('fraud, done, 1 refused');
  expect(await nameOf(page, 'approve')).toBe('approve, waiting');
  expect(await nameOf(page, 'refund')).toBe('refund, idle');
  const budgets = page.getByRole('region', { name: 'Budgets' });
  expect(await budgets.getByRole('meter', { name: 'Model calls' }).getAttribute('aria-valuenow')).toBe('6');
  expect(await budgets.textContent()).toContain('5 / 12');
  expect(
    await page.getByRole('region', { name: 'Timeline' }).getByRole('listitem').filter({ hasText: 'fraud' }).count(),
  ).toBeGreaterThan(0);
  const story = page.getByRole('region', { name: 'Story' });
  await expect.poll(() => story.getByText('refused account').count()).toBe(1);
  const refused = story.getByRole('listitem').filter({ hasText: 'refused account' });
  expect(await refused.textContent()).toMatch(/must be integer/);
  expect(await refused.locator('.is-stopped').textContent()).toContain('arguments');
});

test('the slider shows the run as it was, and the graph says the same as the server', async () => {
  const { page } = anna;
  await open(page, `/runs/${disputed}`);
  const { last } = await site.ask<{ readonly last: number }>(`/runs/${disputed}/state?at=1`);
  for (let step = 0; step < 10; step++) {
    const at = 1 + ((step * 47) % last);
    const state = await site.ask<{ readonly nodes: { readonly [id: string]: { readonly state: string } } }>(
      `/runs/${disputed}/state?at=${at}`,
    );
    const slider = page.getByRole('slider', { name: 'Event' });
    await slider.fill(String(at));
    await expect.poll(() => slider.getAttribute('aria-valuetext')).toBe(`event ${at} of ${last}`);
    for (const [id, { state: word }] of Object.entries(state.nodes))
      await expect
        .poll(() => nameOf(page, id), { message: `${id} at ${at}` })
        .toMatch(new RegExp(`^${id}, ${word}(,|$)`));
  }
  expect(await page.getByRole('region', { name: 'Question' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Back to the end' }).click();
  await page.getByRole('region', { name: 'Question' }).waitFor();
});

test.each(EXAMPLES)('a run of $flow lights its way', async ({ flow }) => {
  const { page } = anna;
  await open(page, `/runs/${runs.get(flow)}`);
  const graph = page.getByRole('region', { name: 'Graph' });
  await expect.poll(() => graph.getByRole('button', { name: /, done/ }).count()).toBeGreaterThanOrEqual(3);
  await expect.poll(() => graph.locator('.edge.is-taken').count()).toBeGreaterThanOrEqual(3);
  expect(await graph.getByRole('button', { name: /, running/ }).count()).toBe(0);
  await page.getByRole('tab', { name: 'Output' }).click();
  await page.getByText('output', { exact: true }).waitFor();
});

test('of thirty visits the seventeenth has failed', async () => {
  const { page } = anna;
  await open(page, `/runs/${runs.get('rounds')}`);
  const dots = page.getByRole('group', { name: 'work, 30 visits' });
  await expect.poll(() => dots.getByRole('button').count()).toBe(30);
  const failed = dots.getByRole('button', { name: 'work, visit 17, failed' });
  expect(await dots.getByRole('button', { name: /failed/ }).count()).toBe(1);
  await failed.click();
  await expect.poll(() => new URL(page.url()).searchParams.get('at')).not.toBeNull();
  await expect.poll(() => page.getByRole('group', { name: 'work, 17 visits' }).getByRole('button').count()).toBe(17);
});

interface CountState {
  readonly nodes: { readonly count: { readonly visits: { readonly count: number } } };
}

test('ten thousand events: few rows in the page, and a drag folds one segment', async () => {
  const { page } = anna;
  const { last } = await site.ask<{ readonly last: number }>(`/runs/${runs.get('many')}/state?at=1`);
  expect(last).toBeGreaterThan(10_000);
  await open(page, `/runs/${runs.get('many')}?tab=journal`);
  const journal = page.getByRole('region', { name: 'Journal' });
  await journal.getByRole('list', { name: 'Events' }).getByRole('listitem').first().waitFor();
  expect(await journal.getByRole('listitem').count()).toBeLessThan(80);
  expect(await page.locator('*').count()).toBeLessThan(3000);
  const slider = page.getByRole('slider', { name: 'Event' });
  const line = page.locator('[data-folded]');
  const visits = page.getByRole('group', { name: /^count, / });
  for (const at of [last - 5, last - 200, 4321, 77]) {
    // A jump reads the events around it; the visits are those of that event when they are there.
    await slider.fill(String(at));
    const { nodes } = await site.ask<CountState>(`/runs/${runs.get('many')}/state?at=${at}`);
    await expect
      .poll(async () => (await visits.getAttribute('aria-label'))?.replaceAll(/\D/g, ''))
      .toBe(String(nodes.count.visits.count));
    await expect.poll(() => new URL(page.url()).searchParams.get('at')).toBe(String(at));
    const before = Number(await line.getAttribute('data-folded'));
    await slider.fill(String(at + 1));
    await expect.poll(() => slider.getAttribute('aria-valuetext')).toContain(`event ${at + 1} of`);
    expect(Number(await line.getAttribute('data-folded')) - before, `at ${at}`).toBeLessThanOrEqual(4000);
  }
});

test('prompts as they were sent, receipts, and values at an event', async () => {
  const { page } = anna;
  await open(page, `/runs/${runs.get('support_refund')}?tab=prompts`);
  await page
    .getByRole('list', { name: 'Calls' })
    .getByRole('button', { name: /triage_bot/ })
    .click();
  await page.getByText('The kettle leaks').first().waitFor();
  await page.getByText(/Sort the customer's message/).waitFor();
  await page.getByRole('tab', { name: 'Output' }).click();
  await page.getByRole('list', { name: 'Receipts' }).getByText('payments.refund').waitFor();
  await page.getByRole('tab', { name: 'Journal' }).click();
  await page.getByRole('button', { name: /^Values at event/ }).click();
  await page.getByRole('list', { name: 'Values' }).getByText('triage', { exact: true }).waitFor();
});

test('text that reorders or hides text is shown as escapes', async () => {
  const { page } = anna;
  const run = await site.start('support_refund', 'refund', { message: 'pay \u202Elive\u202C and zero\u200Bwidth' });
  await open(page, `/runs/${run}`);
  await page.getByText('\\u{202e}live\\u{202c}').first().waitFor();
  for (const tab of ['Prompts', 'Journal', 'Output', 'Story']) {
    await page.getByRole('tab', { name: tab }).click();
    expect(await page.locator('body').innerText(), tab).not.toMatch(/[\u202A-\u202E\u2066-\u2069\u200B]/);
  }
});

test('a call with an edit is approved with care: the focus is on Cancel, the change is shown, the run goes on live', async () => {
  const { page } = anna;
  await open(page, `/runs/${disputed}`);
  const question = page.getByRole('region', { name: 'Question' });
  await question.getByText('cannot be undone').waitFor();
  expect(await question.textContent()).toContain('payments.refund');
  await question.getByRole('button', { name: 'Approve', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await expect.poll(() => dialog.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).count()).toBe(1);
  await page.keyboard.press('Enter');
  await expect.poll(() => dialog.count()).toBe(0);
  expect(await nameOf(page, 'approve')).toBe('approve, waiting');
  await page.waitForTimeout(500);
  await page.keyboard.press('a');
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await expect.poll(() => nameOf(page, 'send')).toBe('send, done');
  await expect.poll(() => page.locator('.top .badge').textContent()).toBe('Completed');
  await expect.poll(() => page.getByRole('region', { name: 'Question' }).count()).toBe(0);
});

test('a fork with another value goes its own way, and the comparison says where', async () => {
  const { page } = anna;
  const run = runs.get('support_refund') ?? '';
  await open(page, `/runs/${run}?at=7`);
  await page.getByRole('button', { name: 'Fork from here' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Change a value (if you like)').selectOption('triage');
  await dialog.getByLabel('triage as JSON').fill('{"output": {"category": "tech"}}');
  await dialog.getByRole('button', { name: 'Fork', exact: true }).click();
  await page.waitForURL((url) => !url.pathname.includes(run));
  await expect.poll(() => nameOf(page, 'tech_support')).toBe('tech_support, done');
  await page.getByRole('link', { name: 'Compare' }).click();
  await page.getByText(/First difference/).waitFor();
  const table = page.getByRole('table');
  await expect.poll(() => table.getByRole('row').filter({ hasText: 'tech_support' }).count()).toBe(1);
  await expect.poll(() => table.getByText('first difference').count()).toBe(1);
  await expect.poll(() => page.getByRole('region', { name: 'Graph' }).count()).toBe(2);
});

describe('a run that goes on', () => {
  test('is seen while it works, is guided, and is stopped', async () => {
    const { page } = anna;
    const run = await site.begin('chargeback', 'chargeback', { message: 'Never arrived' });
    await open(page, `/runs/${run}`);
    await expect
      .poll(() =>
        page
          .getByRole('region', { name: 'Graph' })
          .getByRole('button', { name: /, running/ })
          .count(),
      )
      .toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Guide' }).click();
    await page.getByRole('dialog').getByLabel('Guidance').fill('The customer is known to us.');
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await expect
      .poll(() => page.getByRole('region', { name: 'Story' }).getByText('The customer is known to us.').count())
      .toBeGreaterThan(0);
    await expect.poll(() => nameOf(page, 'approve')).toBe('approve, waiting');
    await page.getByRole('button', { name: 'Cancel run' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel run' }).click();
    await expect.poll(() => page.locator('.top .badge').textContent()).toBe('Cancelled');
  });

  test('seven tabs share one stream, and the next tab takes it over', async () => {
    const { context } = anna;
    const streams = new Set<object>();
    context.on('request', (request) => request.url().includes('/v1/stream') && streams.add(request));
    context.on('requestfinished', (request) => void streams.delete(request));
    context.on('requestfailed', (request) => void streams.delete(request));
    const tabs = await Promise.all(Array.from({ length: 7 }, () => context.newPage()));
    for (const tab of tabs) await open(tab, '/runs');
    await expect.poll(() => streams.size).toBeLessThanOrEqual(1);
    await anna.page.goto('about:blank');
    const run = await site.start('support_refund', 'refund', { message: 'again' });
    // It waits behind a button; a tab whose stream was just made again has read its list again.
    for (const tab of tabs)
      await tab
        .getByRole('button', { name: /^\d+ new$/ })
        .or(tab.getByRole('link', { name: run, exact: true }))
        .first()
        .waitFor();
    for (const tab of tabs) await tab.close();
  });
});

describe('to everybody', () => {
  test.each(['light', 'dark'] as const)('no page has a fault that axe finds, in %s', async (colorScheme) => {
    const { page, context, bad } = await person(browser, site, { colorScheme, reducedMotion: 'reduce' });
    const { items } = await site.ask<{ readonly items: readonly { readonly run: string }[] }>(
      '/runs?flow=support_refund',
    );
    const [one, two] = items.map(({ run }) => run);
    for (const path of [
      ...['/runs', `/runs/${disputed}`, `/runs/${runs.get('rounds')}?tab=journal&at=60`, `/runs/${one}?tab=output`],
      ...[
        `/runs/${one}?tab=prompts`,
        `/runs/${one}/compare/${two}`,
        `/runs/${one}/compare/-`,
        '/runs/r_none',
        '/runs?code=TIMEOUT',
        '/nowhere',
      ],
    ]) {
      await open(page, path);
      await expect.poll(() => page.locator('[aria-busy=true]').count(), { message: path }).toBe(0);
      expect(await violations(page, colorScheme), path).toEqual([]);
    }
    await page.keyboard.press('?');
    expect(await violations(page, colorScheme), 'keys').toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    expect(await violations(page, colorScheme), 'palette').toEqual([]);
    expect(bad).toEqual([]);
    await context.close();
  });

  test('a server that is killed and comes back: the page says so, asks who is there, and goes on', async () => {
    const { page, bad } = anna;
    await open(page, `/runs/${runs.get('rounds')}`);
    await node(page, 'done').waitFor();
    await site.kill();
    await page.getByRole('status').filter({ hasText: 'Reconnecting' }).waitFor();
    expect(await nameOf(page, 'done')).toBe('done, done');
    site = await serve(dir, port, '--as', 'anna');
    await page.getByLabel('Token').waitFor();
    await logIn(page, site);
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
    await expect.poll(() => nameOf(page, 'done')).toBe('done, done');
    const run = await site.start('support_refund', 'refund', { message: 'after' });
    await open(page, '/runs');
    await page.getByRole('link', { name: run, exact: true }).waitFor();
    expect(bad).toEqual([]);
  });
});
