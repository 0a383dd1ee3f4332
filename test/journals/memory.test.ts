/** The store in memory keeps every promise of a store. */
import { test } from 'vitest';
import { openMemory } from '../../src/stores/memory/open.ts';
import { journalSuite } from '../../src/surfaces/testing/journal-suite.ts';

journalSuite({ test }, 'memory', openMemory);
