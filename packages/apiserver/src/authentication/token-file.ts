/**
 * The token file of Kubernetes (`--token-auth-file`): lines of `token,user,uid,"group1,group2"`,
 * the groups optional.
 *
 * Stricter than upstream: content that upstream warns about or ignores (repeated and empty tokens,
 * a fifth column, which unquoted groups become) is rejected, with the line. Messages never contain
 * a token.
 */
import type { UserInfo } from "../request/index.ts";
import { CsvError, parseCsv } from "./csv.ts";
import { AuthenticationConfigurationError } from "./errors.ts";
import { hashToken, type StaticToken } from "./static-tokens.ts";

/** `fileName` is for messages. */
export function parseTokenFile(text: string, fileName: string): StaticToken[] {
  const tokens: StaticToken[] = [];
  const lineOfHash = new Map<string, number>();
  for (const { line, fields } of records(text, fileName)) {
    const refuse = (problem: string): never => {
      throw new AuthenticationConfigurationError(
        `token file ${fileName}, line ${line}: ${problem}`,
      );
    };
    if (fields.length < 3) {
      refuse(`at least 3 columns (token, user name, user uid) are needed, found ${fields.length}`);
    }
    if (fields.length > 4) {
      refuse(
        `${fields.length} columns, at most 4 are allowed; put several groups in quotes: "a,b"`,
      );
    }
    const [token = "", username = "", uid = "", groups = ""] = fields;
    if (token === "") refuse("the token is empty");
    if (username === "") refuse("the user name is empty");
    const tokenHash = hashToken(token);
    const earlier = lineOfHash.get(tokenHash);
    if (earlier !== undefined) refuse(`the token is that of line ${earlier}`);
    lineOfHash.set(tokenHash, line);
    tokens.push({ tokenHash, user: user(username, uid, groups) });
  }
  return tokens;
}

function user(username: string, uid: string, groups: string): UserInfo {
  return {
    username,
    ...(uid === "" ? {} : { uid }),
    groups: groups.split(",").filter((group) => group !== ""),
  };
}

function records(text: string, fileName: string) {
  try {
    return parseCsv(text);
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause;
    throw new AuthenticationConfigurationError(
      `token file ${fileName}, line ${cause.line}: ${cause.message}`,
      { cause },
    );
  }
}
