/** Text as a literal in double quotes, with the escapes of CEL. */
import { chargeSteps } from "../values/step-counter.ts";

const ESCAPES = new Map([
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ["\\", "\\\\"],
  ['"', '\\"'],
]);

/** Surrogates without their other half become U+FFFD. */
export function quote(text: string): string {
  // Each character that is escaped is a call.
  chargeSteps(/[\ud800-\udfff\x07-\r\\"]/.test(text) ? text.length : text.length >> 4);
  const whole = text.replaceAll(
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    "\ufffd",
  );
  const escaped = whole.replaceAll(
    /[\x07-\r\\"]/g,
    (character) => ESCAPES.get(character) ?? character,
  );
  return `"${escaped}"`;
}
