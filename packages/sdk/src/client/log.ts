/**
 * The log of clients and controllers: one line for each message. `console` is one, and so are the
 * loggers of most libraries.
 */
export interface Log {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** Info, warnings and errors as lines on stderr: stdout belongs to the program. */
export const consoleLog: Log = {
  debug() {},
  info: (message) => console.error(`info  ${message}`),
  warn: (message) => console.error(`warn  ${message}`),
  error: (message) => console.error(`error ${message}`),
};

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * A log that is chosen after its users were made: `run` gives that of the program to clusters.
 * Without `run` only what goes wrong is logged: what goes well is for the program to say.
 */
export class ProgramLog implements Log {
  target: Log = { ...consoleLog, info() {} };

  debug(message: string): void {
    this.target.debug(message);
  }

  info(message: string): void {
    this.target.info(message);
  }

  warn(message: string): void {
    this.target.warn(message);
  }

  error(message: string): void {
    this.target.error(message);
  }
}

/** The same log with `subject: ` in front of every message. */
export function logAbout(log: Log, subject: string): Log {
  return {
    debug: (message) => log.debug(`${subject}: ${message}`),
    info: (message) => log.info(`${subject}: ${message}`),
    warn: (message) => log.warn(`${subject}: ${message}`),
    error: (message) => log.error(`${subject}: ${message}`),
  };
}
