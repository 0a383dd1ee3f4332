/** The commands that keep, check, copy and remove what the database holds. */
import { Option, type Command } from 'commander';
import { PERIODS } from '../../runtime/quotas/quota.ts';
import { asOperator, define, RUN, type Caller } from './define-command.ts';

export function addStorage(program: Command, call: Caller): void {
  define(program, 'erase', 'delete the personal data of a run for good', RUN).action(
    call(async () => (await import('./commands/erase.ts')).eraseCommand),
  );
  define(program, 'diff', 'print the differences between two runs')
    .argument('<run>', 'the id of a run')
    .argument('<other>', 'another run')
    .action(call(async () => (await import('./commands/diff.ts')).diffCommand));
  define(program, 'backup', 'copy the database while runs continue')
    .argument('<file>', 'the file to write')
    .action(call(async () => (await import('./commands/backup.ts')).backupCommand));
  define(program, 'prune', 'remove ended runs by the rule of their flow, or by these options')
    .option('--flow <id>', 'only runs of this flow')
    .option('--keep <number>', 'keep this many of the newest runs of each flow and tenant')
    .option('--older-than <time>', 'remove runs that ended earlier: a date, or 30d, 12h')
    .option('--export <dir>', 'write each run to this folder first')
    .option('--dry-run', 'only list them')
    .action(call(async () => (await import('./commands/prune.ts')).pruneCommand));
  addMemory(define(program, 'memory', 'manage the long-term memory of agents'), call);
  addQuotas(program, call);
  addAudit(define(program, 'audit', 'check and export the audit trail'), call);
}

function addMemory(memory: Command, call: Caller): void {
  define(memory, 'list', 'list the entries, newest first')
    .option('--agent <id>', 'only entries of this agent')
    .option('--user <name>', 'only entries of this user')
    .option('--share <name>', 'only entries of this shared memory')
    .addOption(
      new Option('--state <state>', 'only entries in this state').choices(['active', 'quarantined', 'expired']),
    )
    .option('--search <text>', 'only entries with one of these words, best first')
    .option('-n, --limit <number>', 'the number of entries')
    .action(call(async () => (await import('./commands/memory.ts')).memoryListCommand));
  define(memory, 'show', 'print an entry with its sources')
    .argument('<entry>', 'an entry')
    .action(call(async () => (await import('./commands/memory.ts')).memoryShowCommand));
  asOperator(
    define(memory, 'release', 'let later runs read an entry that is in quarantine; the database records who did it'),
  )
    .argument('<entry>', 'an entry')
    .action(call(async () => (await import('./commands/memory.ts')).memoryReleaseCommand));
  asOperator(define(memory, 'forget', 'delete an entry for good; the database records who did it'))
    .argument('<entry>', 'an entry')
    .action(call(async () => (await import('./commands/memory.ts')).memoryForgetCommand));
  define(memory, 'log', 'list releases, deletions and refused accesses').action(
    call(async () => (await import('./commands/memory.ts')).memoryLogCommand),
  );
}

function addQuotas(program: Command, call: Caller): void {
  const quotas = define(program, 'quotas', 'list the quotas of tenants, their use, and refused starts').action(
    call(async () => (await import('./commands/quotas.ts')).quotasCommand),
  );
  asOperator(define(quotas, 'set', 'limit the runs of a tenant; the database records who did it'))
    .argument('<tenant>', 'a tenant, or * for every tenant without a quota of its own')
    .option('--runs <number>', 'runs that start within the period')
    .option('--concurrent <number>', 'runs that have not ended')
    .option('--tokens <number>', 'tokens within the period')
    .option('--usd <amount>', 'dollars within the period')
    .addOption(new Option('--per <period>', 'the period, by the calendar in UTC; day by default').choices(PERIODS))
    .action(call(async () => (await import('./commands/quotas.ts')).setQuotaCommand));
  asOperator(define(quotas, 'remove', 'remove the quota of a tenant'))
    .argument('<tenant>', 'a tenant, or *')
    .action(call(async () => (await import('./commands/quotas.ts')).removeQuotaCommand));
}

function addAudit(audit: Command, call: Caller): void {
  define(audit, 'verify', 'check the chain of hashes')
    .argument('[run]', 'a run, or a file of `audit export`; without it, all runs')
    .option('--heads <file>', 'compare with the heads that were written earlier')
    .option('--key <public>', 'the key that must have signed every ended run: ed25519:…')
    .action(call(async () => (await import('./commands/audit.ts')).auditVerifyCommand));
  define(audit, 'acts', 'list the acts of operators, and accesses that were refused to tenants').action(
    call(async () => (await import('./commands/audit-files.ts')).auditActsCommand),
  );
  define(audit, 'export', 'write a run to a file that can be checked on another machine', RUN)
    .requiredOption('--out <file>', 'the file to write')
    .action(call(async () => (await import('./commands/audit-files.ts')).auditExportCommand));
  define(audit, 'heads', 'write the last hash of every run, to find a database that was rolled back')
    .option('--out <file>', 'the file to write')
    .option('--webhook <url>', 'also post them to this address')
    .action(call(async () => (await import('./commands/audit-files.ts')).auditHeadsCommand));
}
