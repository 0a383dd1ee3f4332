/** The store in memory keeps every promise of a store. */
import { test } from 'vitest';
import { openMemory } from '@sluice-internal/engine/memory';
import { journalSuite } from '../../../testing/src/journal-suite.ts';

journalSuite({ test }, 'memory', openMemory);
