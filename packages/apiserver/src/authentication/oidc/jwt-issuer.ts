/**
 * JwtIssuer: an external issuer of tokens: how to verify it, its audiences, and the mapping of its
 * claims to a user.
 */
export interface JwtIssuer {
  /** The issuer as tokens name it. */
  readonly url: string;
  /** The address of its discovery document, if not below `url`. */
  readonly discoveryUrl: string | undefined;
  /** PEM of the authorities of its server; the system's if undefined. */
  readonly certificateAuthority: string | undefined;
  /** A token must have one of these audiences. */
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly username: ClaimOrExpression;
  readonly groups: ClaimOrExpression | undefined;
  readonly uid: ClaimOrExpression | undefined;
  readonly extra: readonly { readonly key: string; readonly valueExpression: string }[];
  readonly claimRules: readonly ClaimRule[];
  readonly userRules: readonly ExpressionRule[];
}

export type ClaimOrExpression =
  | { readonly claim: string; readonly prefix: string }
  | { readonly expression: string };

export type ClaimRule = { readonly claim: string; readonly requiredValue: string } | ExpressionRule;

/** The expression must be true; `message` is the error when it is not. */
export interface ExpressionRule {
  readonly expression: string;
  readonly message: string;
}

export interface OidcFlags {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly usernameClaim?: string | undefined;
  /** `-` for none; by default the issuer and `#`, but nothing for email addresses. */
  readonly usernamePrefix?: string | undefined;
  readonly groupsClaim?: string | undefined;
  readonly groupsPrefix?: string | undefined;
  /** `name=value`. */
  readonly requiredClaims?: readonly string[] | undefined;
  readonly signingAlgorithms?: readonly string[] | undefined;
  readonly certificateAuthority?: string | undefined;
}

/** The `--oidc-*` flags as an issuer. */
export function issuerOfFlags(flags: OidcFlags): JwtIssuer {
  const { usernameClaim = "sub", usernamePrefix, groupsClaim, groupsPrefix = "" } = flags;
  const prefixDefault = usernameClaim === "email" ? "" : `${flags.issuerUrl}#`;
  const prefix = usernamePrefix === "-" ? "" : (usernamePrefix ?? prefixDefault);
  return {
    url: flags.issuerUrl,
    discoveryUrl: undefined,
    certificateAuthority: flags.certificateAuthority,
    audiences: [flags.clientId],
    algorithms: nonEmpty(flags.signingAlgorithms) ?? ["RS256"],
    username: { claim: usernameClaim, prefix },
    groups: groupsClaim === undefined ? undefined : { claim: groupsClaim, prefix: groupsPrefix },
    uid: undefined,
    extra: [],
    claimRules: (flags.requiredClaims ?? []).map((text) => {
      const at = text.indexOf("=");
      return { claim: text.slice(0, at), requiredValue: text.slice(at + 1) };
    }),
    userRules: [],
  };
}

function nonEmpty(list: readonly string[] | undefined): readonly string[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}
