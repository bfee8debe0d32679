/** The log interface of the server; structured fields first, constant message last. */
export interface ServerLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Whether `debug` writes anything: what only it shows need not be computed otherwise. */
  readonly isDebugEnabled: boolean;
}
