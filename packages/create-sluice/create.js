#!/usr/bin/env node
/** `npm create sluice [dir] [-- --template NAME]`: runs `sluice init` of the release that this package depends on. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(`error[old-node]: sluice needs Node 22.13 or newer, and this is ${process.version}\n`);
  process.exit(2);
}
const command = join(dirname(createRequire(import.meta.url).resolve('sluice/package.json')), 'bin', 'sluice.js');
const args = process.argv.slice(2);
const template = args.some((arg) => arg.startsWith('--template')) ? [] : ['--template', 'typescript'];
const { status } = spawnSync(process.execPath, [command, 'init', ...args, ...template], { stdio: 'inherit' });
process.exit(status ?? 1);
