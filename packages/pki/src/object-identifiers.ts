/** The object identifiers of kcp's certificates, by the names of the standards. */
export const objectIdentifier = {
  // Attributes of names (X.520).
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  organizationalUnit: "2.5.4.11",

  // Certificate extensions (RFC 5280 4.2).
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",

  // Signature algorithms (RFC 5758, RFC 4055, RFC 8410).
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  ecdsaWithSha384: "1.2.840.10045.4.3.3",
  ecdsaWithSha512: "1.2.840.10045.4.3.4",
  rsaWithSha256: "1.2.840.113549.1.1.11",
  rsaWithSha384: "1.2.840.113549.1.1.12",
  rsaWithSha512: "1.2.840.113549.1.1.13",
  ed25519: "1.3.101.112",
} as const;
