/** One result of a check: what is, and what to do next if it is not as it should be. */
export type Severity = "ok" | "warning" | "error";

export interface Finding {
  readonly check: string;
  readonly severity: Severity;
  readonly message: string;
  /** The next step, as a sentence or a command. */
  readonly next?: string;
}

export function ok(check: string, message: string): Finding {
  return { check, severity: "ok", message };
}

export function warning(check: string, message: string, next: string): Finding {
  return { check, severity: "warning", message, next };
}

export function failure(check: string, message: string, next: string): Finding {
  return { check, severity: "error", message, next };
}

export function hasFailed(findings: readonly Finding[]): boolean {
  return findings.some(({ severity }) => severity === "error");
}

const marks: Readonly<Record<Severity, string>> = { ok: "✓", warning: "!", error: "✗" };

export function findingLines(findings: readonly Finding[]): readonly string[] {
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  return findings.flatMap(({ check, severity, message, next }) => [
    `${marks[severity]} ${check.padEnd(width)}  ${message}`,
    ...(next === undefined ? [] : [`  ${" ".repeat(width)}  next: ${next}`]),
  ]);
}
