/** The folder with evaluation data of others, which is not part of the project. `SLUICE_EVAL_DATA` names another place. */
import { pathToFileURL } from 'node:url';

const given = process.env['SLUICE_EVAL_DATA'];

export const EVAL_DATA: URL =
  given === undefined
    ? new URL('../../../shared/eval/', import.meta.url)
    : pathToFileURL(`${given.replace(/\/$/, '')}/`);
