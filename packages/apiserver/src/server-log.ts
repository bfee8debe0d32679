/** The words of a log; structured fields first, constant message last, as pino has them. */
export interface ServerLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  isLevelEnabled(level: string): boolean;
}
