/** The headers that every answer carries, whoever made it. */

import type { ApiResponse } from "../request/api-request.ts";
import type { Exchange } from "./exchange.ts";

/** All warnings together; beyond it each is cut short, as in Kubernetes. */
const warningRunesMax = 4096;
const warningCutRunes = 256;

export function finishHeaders({ auditId, warnings }: Exchange, response: ApiResponse): void {
  const { headers } = response;
  headers["audit-id"] = auditId;
  headers["cache-control"] ??= "no-cache, private";
  if (response.status === 401 || response.status === 403)
    headers["x-content-type-options"] = "nosniff";
  if (warnings.length > 0) headers["warning"] = formatWarnings(warnings);
}

export function formatWarnings(warnings: readonly string[]): string[] {
  const unique = [...new Set(warnings)].filter((text) => text !== "" && !controls.test(text));
  const total = unique.reduce((sum, text) => sum + [...text].length, 0);
  const cut = (text: string) =>
    total > warningRunesMax ? [...text].slice(0, warningCutRunes).join("") : text;
  return unique.slice(0, 100).map((text) => `299 - "${quoteHeader(cut(text))}"`);
}

/** As unicode.IsControl has them: a warning with one of these is not told. */
const controls = /\p{Cc}/u;

/** Header values are bytes: UTF-8 is passed through as Latin-1 characters. */
function quoteHeader(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return Buffer.from(escaped, "utf8").toString("latin1");
}
