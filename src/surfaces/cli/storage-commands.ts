/** The commands that keep, check, copy and remove what the database holds. */
import { Option, type Command } from 'commander';
import { PERIODS } from '../../runtime/quotas/quota.ts';
import type { Cli } from './context.ts';
import type { ExitStatus } from './exit-status.ts';

type Handler<Args extends readonly unknown[]> = (cli: Cli, ...args: Args) => Promise<ExitStatus>;

export type Caller = <Args extends readonly unknown[]>(
  load: () => Promise<Handler<Args>>,
) => (...args: unknown[]) => Promise<void>;

export function addStorage(program: Command, call: Caller): void {
  program
    .command('erase')
    .description('delete the personal data of a run for good')
    .argument('<run>', 'a run')
    .action(call(async () => (await import('./commands/erase.ts')).eraseCommand));
  program
    .command('diff')
    .description('print how two runs differ')
    .argument('<run>', 'a run')
    .argument('<other>', 'another run')
    .action(call(async () => (await import('./commands/diff.ts')).diffCommand));
  program
    .command('backup')
    .description('copy the database while runs continue')
    .argument('<file>', 'the file to write')
    .action(call(async () => (await import('./commands/backup.ts')).backupCommand));
  program
    .command('prune')
    .description('remove ended runs by the rule of their flow, or by these options')
    .option('--flow <id>', 'only runs of this flow')
    .option('--keep <number>', 'keep this many of the newest runs of each flow and tenant')
    .option('--older-than <time>', 'remove runs that ended earlier: a date, or 30d, 12h')
    .option('--export <dir>', 'write each run to this folder first')
    .option('--dry-run', 'only list them')
    .action(call(async () => (await import('./commands/prune.ts')).pruneCommand));
  addMemory(program.command('memory').description('manage what agents remember between runs'), call);
  addQuotas(program, call);
  addAudit(program.command('audit').description('check and export the audit trail'), call);
}

function addMemory(memory: Command, call: Caller): void {
  memory
    .command('list')
    .description('list the entries, newest first')
    .option('--agent <id>', 'only entries of this agent')
    .option('--user <name>', 'only entries of this user')
    .option('--share <name>', 'only entries of this shared memory')
    .addOption(
      new Option('--state <state>', 'only entries in this state').choices(['active', 'quarantined', 'expired']),
    )
    .option('--search <text>', 'only entries with one of these words, best first')
    .option('-n, --limit <number>', 'how many')
    .action(call(async () => (await import('./commands/memory.ts')).memoryListCommand));
  memory
    .command('show')
    .description('print an entry with its sources')
    .argument('<entry>', 'an entry')
    .action(call(async () => (await import('./commands/memory.ts')).memoryShowCommand));
  asOperator(memory.command('release'))
    .description('let later runs read an entry that is in quarantine; the database records who did it')
    .argument('<entry>', 'an entry')
    .action(call(async () => (await import('./commands/memory.ts')).memoryReleaseCommand));
  asOperator(memory.command('forget'))
    .description('delete an entry for good; the database records who did it')
    .argument('<entry>', 'an entry')
    .action(call(async () => (await import('./commands/memory.ts')).memoryForgetCommand));
  memory
    .command('log')
    .description('list releases, deletions and refused accesses')
    .action(call(async () => (await import('./commands/memory.ts')).memoryLogCommand));
}

function addQuotas(program: Command, call: Caller): void {
  const quotas = program
    .command('quotas')
    .description('list the quotas of tenants, their use, and refused starts')
    .action(call(async () => (await import('./commands/quotas.ts')).quotasCommand));
  asOperator(quotas.command('set'))
    .description('limit the runs of a tenant; the database records who did it')
    .argument('<tenant>', 'a tenant, or * for every tenant without a quota of its own')
    .option('--runs <number>', 'runs that start within the period')
    .option('--concurrent <number>', 'runs that have not ended')
    .option('--tokens <number>', 'tokens within the period')
    .option('--usd <amount>', 'dollars within the period')
    .addOption(new Option('--per <period>', 'the period, by the calendar in UTC; day by default').choices(PERIODS))
    .action(call(async () => (await import('./commands/quotas.ts')).setQuotaCommand));
  asOperator(quotas.command('remove'))
    .description('remove the quota of a tenant')
    .argument('<tenant>', 'a tenant, or *')
    .action(call(async () => (await import('./commands/quotas.ts')).removeQuotaCommand));
}

function addAudit(audit: Command, call: Caller): void {
  audit
    .command('verify')
    .description('check the chain of hashes')
    .argument('[run]', 'a run, or a file of `audit export`; without it, all runs')
    .option('--heads <file>', 'compare with the heads that were written earlier')
    .option('--key <public>', 'the key that must have signed every ended run: ed25519:…')
    .action(call(async () => (await import('./commands/audit.ts')).auditVerifyCommand));
  audit
    .command('acts')
    .description('list what operators did by hand, and what was refused to tenants')
    .action(call(async () => (await import('./commands/audit-files.ts')).auditActsCommand));
  audit
    .command('export')
    .description('write a run to a file that can be checked on another machine')
    .argument('<run>', 'a run')
    .requiredOption('--out <file>', 'the file to write')
    .action(call(async () => (await import('./commands/audit-files.ts')).auditExportCommand));
  audit
    .command('heads')
    .description('write the last hash of every run, to find a database that was rolled back')
    .option('--out <file>', 'the file to write')
    .option('--webhook <url>', 'also post them to this address')
    .action(call(async () => (await import('./commands/audit-files.ts')).auditHeadsCommand));
}

/** Options of the commands that an operator changes the database with. */
export function asOperator(command: Command): Command {
  return command.option('--as <who>', 'who does it').option('--why <text>', 'the reason');
}
