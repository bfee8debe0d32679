import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileSchema } from "./index.ts";

const good: Record<string, readonly string[]> = {
  bsonobjectid: ["507f1f77bcf86cd799439011"],
  uri: ["http://a.b/c?d#e", "/path", "mailto:a@b", "https://[::1]:80/x", "http://u:p@h"],
  email: ["a@b.c", "First Last <a@b>", '"x y"@b.c', "<a@b.c>"],
  hostname: ["a", "a.com", "1a.example.org", "a-1", "host-1.example", "ünï.com"],
  ipv4: ["1.2.3.4", "010.0.0.1"],
  ipv6: ["::", "::1", "1:2:3:4:5:6:7:8", "fe80::1", "::ffff:1.2.3.4"],
  cidr: ["10.0.0.0/8", "fd00::/8", "1.2.3.4/32"],
  mac: ["01:23:45:67:89:ab", "01-23-45-67-89-AB", "0123.4567.89ab", "01:23:45:67:89:ab:cd:ef"],
  uuid: ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
  uuid3: ["bcd02e22-68f0-3046-a512-327cca9def8f"],
  uuid4: ["025b0d74-00a2-4048-bf57-227c5111bb34"],
  uuid5: ["886313e1-3b8a-5372-9b90-0c9aee199e5d"],
  isbn: ["0321751043", "978-0321751041"],
  isbn10: ["0321751043", "3-8362-2119-5", "080442957X"],
  isbn13: ["978-0321751041"],
  creditcard: ["4111-1111-1111-1111", "5555 5555 5555 4444"],
  ssn: ["111-11-1111", "111 11 1111"],
  hexcolor: ["#FFF", "ffffff"],
  rgbcolor: ["rgb(255,255,255)", "rgb( 0 , 10 , 99 )"],
  byte: ["YQ==", "YWJj", "YWI="],
  password: ["", "anything"],
  date: ["2024-02-29", "2006-01-02"],
  "date-time": ["2014-12-15T19:30:20.000Z", "2014-12-15t08:00:00z", "2014-12-15T19:30:20+02:00"],
  duration: ["1h30m", "22 ns", "3 days", "0", "-1.5h", "1 week 2 hours", "2 us"],
  "k8s-short-name": ["my-name", "1"],
  "k8s-long-name": ["a.b-c.d", "x"],
};

const bad: Record<string, readonly string[]> = {
  bsonobjectid: ["507f1f77bcf86cd79943901", "x"],
  uri: ["", "a b", "relative/path", "http://[::1", "/%zz", "http://a b/"],
  email: ["", "a", "a@", "a b@c", "x <a@b"],
  hostname: ["", "-a", "host-1", "a..b", "a_b.com", "x.1", `${"a".repeat(64)}.com`],
  ipv4: ["1.2.3", "256.1.1.1", "::1", "a.b.c.d"],
  ipv6: ["1:2:3", "1::2::3", "12345::", ":::", "1.2.3.4", "1:2:3:4:5:6:7:8:9", "::1.2.3.04"],
  cidr: ["10.0.0.0", "10.0.0.0/33", "x/8", "::/129"],
  mac: ["01:23:45:67:89", "01:23-45:67:89:ab", "0123.4567"],
  uuid: ["123e4567-e89b-12d3-a456-42661417400", "x"],
  uuid3: ["123e4567-e89b-12d3-a456-426614174000"],
  uuid4: ["123e4567-e89b-12d3-a456-426614174000"],
  uuid5: ["123e4567-e89b-12d3-a456-426614174000"],
  isbn: ["1"],
  isbn10: ["0321751044"],
  isbn13: ["978-0321751042"],
  creditcard: ["4111-1111-1111-1112", "1"],
  ssn: ["1111-1-1111", "111111111"],
  hexcolor: ["#ff", "xyz"],
  rgbcolor: ["rgb(256,0,0)", "rgb(1,2)"],
  byte: ["", "YQ=", "Y!==", "YQ==\n"],
  date: ["2023-02-29", "2006-1-2", "2006-13-01", "2006-00-10"],
  "date-time": [
    "2014-12-15",
    "2014-12-15T24:00:00Z",
    "2014-12-15T19:30:20",
    "2014-12-15 19:30:20Z",
  ],
  duration: ["", "1", "x", "1 parsec"],
  "k8s-short-name": ["", "A", "-a", "a".repeat(64)],
  "k8s-long-name": ["", "a..b", "A", "a".repeat(254)],
};

function accepts(format: string, text: string): boolean {
  const schema = compileSchema({ type: "object", properties: { x: { type: "string", format } } });
  return schema.validate({ x: text }).length === 0;
}

describe("formats", () => {
  for (const [format, texts] of Object.entries(good)) {
    for (const text of texts) {
      it(`${JSON.stringify(text)} is a ${format}`, () => {
        assert.ok(accepts(format, text));
      });
    }
  }
  for (const [format, texts] of Object.entries(bad)) {
    for (const text of texts) {
      it(`${JSON.stringify(text.slice(0, 50))} is no ${format}`, () => {
        assert.ok(!accepts(format, text));
      });
    }
  }
});
