// Commands of the program on the server under test.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Runs a subcommand, such as `runProgram("user", "list")`. */
export const runProgram = (...words) => run(process.env.CARREL_PROGRAM, words);
