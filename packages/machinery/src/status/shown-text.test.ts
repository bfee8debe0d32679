/** The limits of what a refusal repeats of a request, at the limit and one beyond. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { errorsMax, errorsTextMax, fieldError, quote, shownTextMax, statusError } from "./index.ts";

const atLimit = "a".repeat(shownTextMax);
const beyond = `${atLimit}a`;
const kind = { group: "example.com", kind: "Widget" };

describe("a refusal", () => {
  it("quotes texts up to their limit, and truncates longer ones", () => {
    assert.equal(quote(atLimit), `"${atLimit}"`);
    assert.equal(quote(beyond), `"${atLimit}…"`);
  });

  it("truncates fields and values of field errors", () => {
    const { field, body } = fieldError.invalid(beyond, [beyond], "is wrong");
    assert.equal(field, `${atLimit}…`);
    assert.equal(body, `Invalid value: ["${"a".repeat(shownTextMax - 2)}…: is wrong`);
  });

  it("truncates names and kinds in its message and details", () => {
    const { status } = statusError.invalid({ ...kind, kind: beyond }, beyond, []);
    assert.equal(status.details?.name, `${atLimit}…`);
    assert.equal(status.details?.kind, `${atLimit}…`);
    assert.ok((status.message ?? "").length < 3 * shownTextMax);
    const missing = statusError.notFound({ group: "", resource: "widgets" }, beyond);
    assert.equal(missing.status.details?.name, `${atLimit}…`);
  });

  it(`reports ${errorsMax} errors`, () => {
    const errors = Array.from({ length: errorsMax + 1 }, (_, i) => fieldError.required(`f${i}`));
    const { status } = statusError.invalid(kind, "x", errors);
    assert.equal(status.details?.causes?.length, errorsMax);
    assert.doesNotMatch(status.message ?? "", new RegExp(`f${errorsMax}:`));
  });

  it(`reports errors of ${errorsTextMax} characters together, and the first whatever its size`, () => {
    const causes = (length: number) =>
      statusError.invalid(kind, "x", [
        fieldError.internal("", "a".repeat(length)),
        fieldError.internal("", "b"),
      ]).status.details?.causes?.length;
    const { body } = fieldError.internal("", "");
    const rest = errorsTextMax - 2 * `${body}: `.length - 1;
    assert.equal(causes(rest), 2);
    assert.equal(causes(rest + 1), 1);
  });

  it("has a message of limited length", () => {
    const { message } = statusError.badRequest("a".repeat(3 * errorsTextMax)).status;
    assert.equal(message?.length, 2 * errorsTextMax + 1);
  });
});
