/** Inbox, flows, health and audit in a browser, over a server of its own with real runs. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { folder, freePort, openBrowser, person, remove, serve, violations, type Person, type Site } from './kit.ts';

let browser: Browser;
let site: Site;
let dir: string;
let anna: Person;

const COMPLAINT = 'The kettle leaks: a refund, please';
const QUESTION = 'Refund 49.5 for order A-1042?';
const open = async (page: Page, path: string): Promise<void> => {
  await page.goto(site.url + path);
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
};
const asked = (): Promise<string> => site.start('desk', 'desk', COMPLAINT, { user: 'mila' });
const questionOf = async (run: string): Promise<string> => {
  const { waiting } = await site.ask<{ readonly waiting: readonly { readonly id: string }[] }>(`/runs/${run}`);
  return waiting[0]?.id ?? '';
};

beforeAll(async () => {
  dir = folder();
  site = await serve(dir, await freePort());
  browser = await openBrowser();
  anna = await person(browser, site);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await site?.end();
  if (dir !== undefined) remove(dir);
});

test('a payment is approved with the whole packet in sight, and no key approves at once', async () => {
  const { page } = anna;
  const run = await asked();
  await open(page, `/inbox?q=${await questionOf(run)}`);
  const packet = page.getByRole('region', { name: 'Question' });
  await packet.getByRole('heading', { name: QUESTION }).waitFor();
  for (const text of [COMPLAINT, 'payments.refund', 'AC-A-1042', 'payments.reverse', 'trusted'])
    await packet.getByText(text, { exact: false }).first().waitFor();
  await page.waitForTimeout(450);
  await page.keyboard.press('a');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  expect(await dialog.getByRole('button', { name: 'Cancel' }).evaluate((each) => each.matches(':focus'))).toBe(true);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  expect((await site.ask<{ readonly receipts: readonly unknown[] }>(`/runs/${run}`)).receipts).toHaveLength(1);
  await packet.getByRole('button', { name: 'Approve' }).click();
  await dialog.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('status').filter({ hasText: 'was first' }).waitFor();
  const { receipts } = await site.ask<{ readonly receipts: readonly { readonly tool: string }[] }>(`/runs/${run}`);
  expect(receipts.map(({ tool }) => tool)).toContain('payments.refund');
}, 60_000);

test('a mail is edited as a diff before it is sent', async () => {
  const { page } = anna;
  const run = await asked();
  const first = await questionOf(run);
  const { payload } = await site.ask<{ readonly payload: string }>(`/questions/${first}`);
  await site.ask(`/questions/${first}/answer`, { choice: 'approve', payload });
  await expect.poll(() => questionOf(run), { timeout: 20_000 }).not.toBe(first);
  await expect.poll(() => questionOf(run), { timeout: 20_000 }).not.toBe('');
  await open(page, `/inbox?q=${await questionOf(run)}`);
  const packet = page.getByRole('region', { name: 'Question' });
  await packet.getByRole('button', { name: 'Edit' }).click();
  const field = packet.getByLabel('Edit', { exact: true });
  await field.fill((await field.inputValue()).replace('money', 'refund of $49.50'));
  await packet.getByText('edited by you').waitFor();
  expect(await packet.locator('.diff-in mark').textContent()).toContain('refund of $49.50');
  expect(await violations(page)).toEqual([]);
  await packet.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
  await expect
    .poll(async () => JSON.stringify(await site.ask(`/runs/${run}`)), { timeout: 20_000 })
    .toContain('refund of $49.50');
}, 60_000);

test('of two people at the same time, the second reads who was first', async () => {
  const run = await asked();
  const id = await questionOf(run);
  const ben = await person(browser, site);
  for (const { page } of [anna, ben]) {
    await open(page, `/inbox?q=${id}`);
    await page.getByRole('button', { name: 'Reject' }).click();
    await page.getByRole('dialog').waitFor();
  }
  await anna.page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
  await anna.page.getByRole('dialog').waitFor({ state: 'detached' });
  await ben.page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
  await ben.page.getByRole('alert').filter({ hasText: 'was first' }).waitFor();
  expect(ben.bad).toEqual([]);
  await ben.context.close();
}, 60_000);

test('a flow is checked as it is typed, and runs from its form', async () => {
  const { page } = anna;
  await open(page, '/flows/desk');
  await page.getByText('Holds').waitFor();
  await page.getByRole('region', { name: 'Graph' }).getByText('payments.refund').waitFor();
  const source = page.getByRole('textbox', { name: 'Source' });
  await source.click();
  await page.keyboard.press('ControlOrMeta+End');
  await page.keyboard.type('wrong: 1');
  await page.getByText('1 mistake').waitFor();
  await page.getByRole('button', { name: 'Take back' }).click();
  await page.getByText('Holds').waitFor();
  const form = page.getByRole('form', { name: 'Start' });
  await form.getByLabel('Input').fill(COMPLAINT);
  await form.getByRole('button', { name: 'Run with script' }).click();
  await page.waitForURL(/\/runs\/r_/);
}, 60_000);

test('an exported file is checked in the browser, and a changed one names the event', async () => {
  const { page } = anna;
  const run = await asked();
  const file = join(dir, 'run.json');
  const bin = join(import.meta.dirname, '../../bin/sluice.js');
  const args = [bin, 'audit', 'export', run, '--out', file, '--db', join(dir, '.sluice/sluice.db')];
  expect(spawnSync(process.execPath, args, { encoding: 'utf8' }).status).toBe(0);
  await open(page, '/audit');
  await page.getByLabel('Export file').setInputFiles(file);
  await page.getByText('The chain holds').waitFor();
  const text = readFileSync(file, 'utf8');
  const { appends } = JSON.parse(text) as {
    readonly appends: readonly { readonly after: number; readonly at: number }[];
  };
  const changed = appends.at(-1);
  const broken = {
    ...JSON.parse(text),
    appends: appends.map((each) => (each === changed ? { ...each, at: 1 } : each)),
  };
  writeFileSync(file, JSON.stringify(broken));
  await page.getByLabel('Export file').setInputFiles(file);
  await page.getByText('The chain is broken').waitFor();
  await page.getByText(`Event ${(changed?.after ?? 0) + 1}`, { exact: true }).waitFor();
}, 60_000);

test('the pages did nothing that they must not do', () => {
  expect(anna.bad).toEqual([]);
});

test.each(['light', 'dark'] as const)(
  'axe finds nothing on these pages in %s',
  async (colorScheme) => {
    const { page, context, bad } = await person(browser, site, { colorScheme });
    for (const path of [
      '/inbox',
      '/inbox?show=answered',
      '/flows',
      '/flows/desk',
      '/flows/desk?tab=certificate',
      '/health',
      '/audit',
    ]) {
      await open(page, path);
      await page.waitForTimeout(700);
      expect({ path, found: await violations(page, colorScheme) }).toEqual({ path, found: [] });
    }
    expect(bad).toEqual([]);
    await context.close();
  },
  120_000,
);
