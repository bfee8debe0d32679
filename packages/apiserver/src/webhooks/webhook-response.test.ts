/** The parsing of a webhook's response, and the reports of its failures. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "@kcp-ts/machinery/base";
import { bounds } from "@kcp-ts/machinery/bounds";
import {
  connectionErrorMessage,
  parseResponseObject,
  type WebhookResponse,
} from "./webhook-response.ts";

function objectIn(answer: WebhookResponse) {
  return runSync(parseResponseObject(answer, bounds.admissionAnswer));
}

describe("the response of a webhook", () => {
  it("is an object, with any content type and any status of success", () => {
    for (const code of [200, 201, 206])
      assert.deepEqual(objectIn({ code, contentType: "text/plain", text: '{"a":1}' }), { a: 1 });
  });

  const failures: readonly [number, string, string, string][] = [
    [200, "text/plain", "", "0-length response with status code: 200 and content type: text/plain"],
    [200, "", "[]", "couldn't get version/kind; json parse error: the answer is no object"],
    [
      302,
      "",
      "",
      "the server responded with the status code 302 but did not return more information",
    ],
    [403, "text/plain", "not you\n", "not you"],
    [404, "text/html", "<p>", "the server could not find the requested resource"],
    [406, "", "", "the server was unable to respond with a content type that the client supports"],
    [406, "", "only XML", "only XML"],
    [
      500,
      "text/plain",
      "broken",
      'an error on the server ("broken") has prevented the request from succeeding',
    ],
    [
      500,
      "application/json",
      "{}",
      'an error on the server ("unknown") has prevented the request from succeeding',
    ],
    [503, "", "", "the server is currently unable to handle the request"],
  ];
  for (const [code, contentType, text, message] of failures) {
    it(`is none: ${code} ${contentType} ${JSON.stringify(text)}`, () => {
      assert.throws(() => objectIn({ code, contentType, text }), { message });
    });
  }

  it("is reported in a bounded number of characters when it is an error", () => {
    const told = (length: number) => {
      try {
        return objectIn({ code: 403, contentType: "", text: "x".repeat(length) });
      } catch (error) {
        return (error as Error).message.length;
      }
    };
    assert.deepEqual([told(200), told(201)], [200, 200]);
  });
});

describe("a connection that fails", () => {
  const failed = (message: string, more: object) => Object.assign(new Error(message), more);
  it("is reported in the words of Kubernetes", () => {
    const refused = { code: "ECONNREFUSED", port: 1 };
    assert.equal(
      connectionErrorMessage(failed("connect ECONNREFUSED", { ...refused, address: "::1" })),
      "dial tcp [::1]:1: connect: connection refused",
    );
    assert.equal(
      connectionErrorMessage(failed("connect ECONNREFUSED", { ...refused, address: "127.0.0.1" })),
      "dial tcp 127.0.0.1:1: connect: connection refused",
    );
    assert.equal(connectionErrorMessage(failed("socket hang up", { code: "ECONNRESET" })), "EOF");
    assert.equal(
      connectionErrorMessage(failed("x", { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" })),
      "tls: failed to verify certificate: x509: certificate signed by unknown authority",
    );
    assert.equal(connectionErrorMessage(failed("as it is", {})), "as it is");
  });
});
