import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sampleRequest } from "../../../testing/index.ts";
import { certificateBlocksMax, certificatesError } from "./certificate-errors.ts";
import { signingRequestError } from "./signing-request.ts";
import { certificate, ed25519Request, pssRequest, rsaRequest } from "./test-vectors.ts";

const ecRequest = Buffer.from(sampleRequest, "base64").toString("latin1");

const bytesOf = (pem: string) => Buffer.from(pem.split("-----")[2] ?? "", "base64");

const pemOf = (bytes: Uint8Array) =>
  `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(bytes).toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;

/** The request with one flipped bit. */
function damaged(pem: string, at: (length: number) => number): string {
  const bytes = bytesOf(pem);
  const index = at(bytes.length);
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return pemOf(bytes);
}

const lastByte = (length: number) => length - 1;

describe("signingRequestError", () => {
  it("accepts requests with RSA, ECDSA and Ed25519 signatures", () => {
    for (const request of [ecRequest, ed25519Request, rsaRequest])
      assert.equal(signingRequestError(request), undefined);
    assert.equal(signingRequestError(`a comment\n${ecRequest}more`), undefined);
  });

  it("rejects a signature of another key than that in the request", () => {
    assert.match(
      signingRequestError(damaged(ecRequest, lastByte)) ?? "",
      /^x509: ECDSA verification failure$/,
    );
    assert.equal(
      signingRequestError(damaged(ed25519Request, lastByte)),
      "x509: Ed25519 verification failure",
    );
    assert.equal(
      signingRequestError(damaged(rsaRequest, lastByte)),
      "crypto/rsa: verification error",
    );
  });

  it("rejects an unknown signature algorithm", () => {
    assert.equal(
      signingRequestError(pssRequest),
      "x509: cannot verify signature: algorithm unimplemented",
    );
  });

  it("rejects text that is not PEM, and PEM of another type", () => {
    for (const text of ["", "x", certificate, ecRequest.slice(0, 100), "-----BEGIN -----"]) {
      assert.equal(signingRequestError(text), "PEM block type must be CERTIFICATE REQUEST", text);
    }
  });

  it("rejects every damage", () => {
    assert.equal(signingRequestError(pemOf(bytesOf(ecRequest))), undefined);
    for (let index = 0; index < bytesOf(ecRequest).length; index++)
      assert.notEqual(signingRequestError(damaged(ecRequest, () => index)), undefined, `${index}`);
  });

  it("survives a request that is truncated anywhere", () => {
    const bytes = bytesOf(ecRequest);
    for (let length = 0; length < bytes.length; length++)
      assert.match(signingRequestError(pemOf(bytes.subarray(0, length))) ?? "", /^asn1: /);
  });
});

describe("certificatesError", () => {
  it("accepts one certificate or several, with comments between them", () => {
    assert.equal(certificatesError(certificate), undefined);
    assert.equal(certificatesError(`a\n${certificate}b\n${certificate}`), undefined);
  });

  const refused: [text: string, says: string][] = [
    ["", "must contain at least one CERTIFICATE PEM block"],
    [ecRequest, 'only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"'],
    [
      certificate.replace("-----\n", "-----\nProc-Type: x\n\n"),
      "no PEM block headers are permitted",
    ],
    ["-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "x509: malformed certificate"],
  ];
  for (const [text, says] of refused)
    it(`says: ${says}`, () => assert.equal(certificatesError(text), says));

  it("accepts a hundred certificates and no more", () => {
    assert.equal(certificatesError(certificate.repeat(certificateBlocksMax)), undefined);
    assert.equal(
      certificatesError(certificate.repeat(certificateBlocksMax + 1)),
      "must not contain more than 100 CERTIFICATE PEM blocks",
    );
  });
});
