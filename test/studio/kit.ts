/** A server in a process of its own, with flows of the tests and of the examples, and a browser that looks at its pages. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';

const root = join(import.meta.dirname, '../..');
const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'));

/** One of each notation. */
export const EXAMPLES = [
  { flow: 'support_refund', file: 'refund.flow.yaml', script: 'refund', input: { message: 'The kettle leaks' } },
  { flow: 'refine-loop', file: 'refine-loop.workflow.yaml', script: 'refine-loop', input: 'A text' },
  { flow: 'recipe', file: 'adversarial.team.yaml', script: 'adversarial', input: 'Bread' },
  { flow: 'market_report', file: 'market-report.staged.yaml', script: 'market-report', input: 'Tea' },
  { flow: 'incident', file: 'incident.loop.yaml', script: 'incident', input: 'Errors since noon' },
] as const;

export interface Site {
  readonly url: string;
  readonly token: string;
  readonly dir: string;
  ask<Answer = { readonly [field: string]: never }>(path: string, body?: unknown): Promise<Answer>;
  /** Starts a run, and waits until it ends or asks. */
  start(flow: string, script: string | null, input: unknown, more?: object): Promise<string>;
  /** Starts a run, and waits for nothing. */
  begin(flow: string, script: string, input: unknown): Promise<string>;
  /** The process ends at once, without a word. */
  kill(): Promise<void>;
  end(): Promise<void>;
}

/** A folder with the flows; a server for it is started with `serve`. */
export function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-studio-'));
  cpSync(join(root, 'test/studio/flows'), dir, { recursive: true });
  for (const { file, script } of EXAMPLES)
    for (const name of [file, `${script}.script.yaml`]) cpSync(join(root, 'examples', name), join(dir, name));
  return dir;
}

export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => void probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => void probe.close(resolve));
  return port;
}

export async function serve(dir: string, port: number, ...flags: readonly string[]): Promise<Site> {
  const args = [join(root, 'bin/sluice.js'), 'serve', dir, '--port', String(port), '--json', ...flags];
  const child = spawn(process.execPath, [...args, '--db', join(dir, '.sluice/sluice.db')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { url, tokenFile } = JSON.parse(await firstLine(child)) as { readonly url: string; readonly tokenFile: string };
  const token = readFileSync(tokenFile, 'utf8').trim();
  const gone = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
  const stop = (signal: NodeJS.Signals) => async (): Promise<void> => {
    child.kill(signal);
    await gone;
  };
  const ask: Site['ask'] = async <Answer>(path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${url}/v1${path}`, {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', prefer: 'wait=30' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Answer;
  };
  return {
    ...{ url, token, dir, ask, kill: stop('SIGKILL'), end: stop('SIGTERM') },
    start: async (flow, script, input, more = {}) => {
      const body = { input, ...(script === null ? {} : { script }), ...more };
      return (await ask<{ readonly run: string }>(`/flows/${flow}/runs`, body)).run;
    },
    begin: async (flow, script, input) => {
      const response = await fetch(`${url}/v1/flows/${flow}/runs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ input, script }),
      });
      return ((await response.json()) as { readonly run: string }).run;
    },
  };
}

function firstLine({ stdout }: ChildProcess): Promise<string> {
  let text = '';
  return new Promise((resolve, reject) => {
    stdout?.on('data', (part: Buffer) => {
      text += part.toString();
      if (text.includes('\n')) resolve(text.split('\n')[0] ?? '');
    });
    stdout?.on('end', () => reject(new Error(`no server: ${text}`)));
  });
}

export async function openBrowser(): Promise<Browser> {
  const path = spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim();
  return chromium.launch({ executablePath: path, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

export interface Person {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What must never happen: errors of the page, reports of the policy, requests to elsewhere. */
  readonly bad: string[];
}

/** A browser of its own, logged in with the token of the machine. */
export async function person(browser: Browser, site: Site, options: object = {}): Promise<Person> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const bad: string[] = [];
  context.on('request', (request) => {
    if (!request.url().startsWith(`${site.url}/`)) bad.push(`request: ${request.url()}`);
  });
  context.on('weberror', (error) => bad.push(`error: ${error.error().message}`));
  context.on('console', (message) => {
    if (/content security policy|unique "key"/i.test(message.text())) bad.push(`console: ${message.text()}`);
  });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  await page.goto(`${site.url}/`);
  await logIn(page, site);
  return { context, page, bad };
}

export async function logIn(page: Page, site: Site): Promise<void> {
  await page.getByLabel('Token').fill(site.token);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.locator('main.content').waitFor();
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What axe finds, in words. The themes differ in colours alone, so in dark nothing else is looked for. */
export async function violations(page: Page, theme: 'light' | 'dark' = 'light'): Promise<readonly string[]> {
  // The policy of the page allows no script of a test in a tag; the protocol of the browser runs it.
  await page.evaluate(readFileSync(AXE, 'utf8'));
  const rules = theme === 'dark' ? { runOnly: ['color-contrast'] } : {};
  const found = await page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as {
      readonly axe: { run(options: object): Promise<{ violations: unknown }> };
    };
    return (await axe.run({ resultTypes: ['violations'], ...only })).violations;
  }, rules);
  return (found as readonly Violation[]).flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 160)} ${failureSummary.slice(0, 200)}`),
  );
}

export function remove(dir: string): void {
  if (readdirSync(dir).length > 0) rmSync(dir, { recursive: true, force: true });
}
