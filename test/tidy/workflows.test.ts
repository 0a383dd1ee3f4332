/** The workflows of the repository: what they check, what they may do, and whose code they run. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { read, root } from './tree.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: { readonly [name: string]: unknown };
}
interface Job {
  readonly steps: readonly Step[];
  readonly needs?: string;
  readonly permissions?: { readonly [right: string]: string };
  readonly 'timeout-minutes'?: number;
}
interface Workflow {
  readonly on: { readonly [event: string]: unknown };
  readonly permissions?: { readonly [right: string]: string };
  readonly jobs: { readonly [name: string]: Job };
}

const FOLDER = '.github/workflows';
const files = readdirSync(join(root, FOLDER));
const workflow = (file: string): Workflow => parse(read(join(FOLDER, file))) as Workflow;
const commands = (job: Job | undefined): string => (job?.steps ?? []).map((step) => step.run ?? '').join('\n');

test.each(files)('%s: actions are pinned by the hash of a commit, and named by their version', (file) => {
  const uses = read(join(FOLDER, file)).match(/uses: .*/g) ?? [];
  expect(uses.length).toBeGreaterThan(0);
  for (const each of uses) expect(each).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test.each(files)('%s: a job has the rights that it names, and no other', (file) => {
  const { permissions, jobs } = workflow(file);
  expect(permissions).toEqual({ contents: 'read' });
  for (const job of Object.values(jobs)) expect(job['timeout-minutes']).toBeGreaterThan(0);
  // A package that npx looks up without a version is whatever is published that day.
  expect(read(join(FOLDER, file))).not.toMatch(/npx (?!--yes --ignore-scripts \S+@\d+\.\d+\.\d+ )/);
});

test('each pull request is tested and audited, without a secret and without rights to write', () => {
  const { on, jobs } = workflow('check.yml');
  expect(on).toHaveProperty('pull_request');
  expect(commands(jobs['test'])).toContain('npm ci\nnpm test');
  expect(commands(jobs['audit'])).toMatch(
    /npm audit --omit=dev --audit-level=moderate[\s\S]*npm audit --audit-level=high/,
  );
  expect(read(join(FOLDER, 'check.yml'))).not.toMatch(/secrets\.|: write|pull_request_target/);
});

test('the job that builds cannot publish, and the job that publishes runs no code of the project', () => {
  const { jobs } = workflow('release.yml');
  const { build, publish } = jobs;
  expect(Object.keys(jobs)).toEqual(['build', 'publish']);
  expect(build?.permissions).toBeUndefined();
  expect(commands(build)).toMatch(/npm ci[\s\S]*npm audit[\s\S]*npm test[\s\S]*npm run pack -- release/);
  expect(commands(build)).not.toContain('npm publish');
  expect(publish?.needs).toBe('build');
  expect(publish?.permissions).toEqual({ 'id-token': 'write' });
  expect(publish?.steps.map((step) => step.uses?.split('@')[0])).not.toContain('actions/checkout');
  for (const line of commands(publish).split('\n').filter(Boolean))
    expect(line).toMatch(/^npm publish --ignore-scripts --provenance --access public \.\/release\//);
});

test('npm trusts the workflow: no token can be stolen', () => {
  for (const file of files) expect(read(join(FOLDER, file))).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN|_authToken/);
});
