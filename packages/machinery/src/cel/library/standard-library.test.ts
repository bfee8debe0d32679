import { describe, it } from "node:test";
import { expressionTable } from "../test-support/expression-table.ts";

describe("arithmetic", () => {
  expressionTable(it, [
    ["9223372036854775807 + 1", "error: integer overflow"],
    ["-9223372036854775808 - 1", "error: integer overflow"],
    ["-(-9223372036854775808)", "error: integer overflow"],
    ["-9223372036854775808 / -1", "error: integer overflow"],
    ["-9223372036854775808 % -1", "error: integer overflow"],
    ["7 / 0", "error: division by zero"],
    ["7 % 0", "error: modulus by zero"],
    ["-7 / 2", "-3"],
    ["-7 % 2", "-1"],
    ["1u - 2u", "error: unsigned integer overflow"],
    ["1.0 / 0.0 > 1.0", "true"],
    ["0.0 / 0.0 == 0.0 / 0.0", "false"],
    ["0.0 / 0.0 < 1.0", "error: NaN values cannot be ordered"],
    ["1 + 1.0", "refused: found no matching overload for '_+_' applied to '(int, double)'"],
    ["dyn(1) + dyn('a')", "error: no such overload"],
    ["duration('1h') + duration('30m') == duration('90m')", "true"],
    ["timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: timestamp overflow"],
    ["b'ab' + b'c' == b'abc'", "true"],
    ["[1] + [2]", "[1, 2]"],
  ]);
});

describe("comparison", () => {
  expressionTable(it, [
    ["1 == 1.0", "refused: found no matching overload for '_==_' applied to '(int, double)'"],
    ["dyn(1) == 1.0 && dyn(1u) == 1", "true"],
    ["1 < 1.5 && 1u <= 1 && 2.0 > 1u", "true"],
    ["dyn('a') == 1", "false"],
    ["dyn('a') < 1", "error: no such overload"],
    ["'\\ue000' < '\\U0001f600'", "true"],
    ["{'a': [1, 2]} == {'a': [1, 2]}", "true"],
    ["[1, 2] == [2, 1]", "false"],
    ["3 in [1, 2, 3] && !(4 in [1, 2, 3])", "true"],
    ["'k' in {'k': 1}", "true"],
    ["b'a' < b'b'", "true"],
    ["false < true", "true"],
    ["type(1) == int && type('') == string && type({}) == map", "true"],
    ["null == dyn(null)", "true"],
  ]);
});

describe("logic", () => {
  expressionTable(it, [
    ["true || 1 / 0 == 0", "true"],
    ["1 / 0 == 0 || true", "true"],
    ["1 / 0 == 0 || false", "error: division by zero"],
    ["1 / 0 == 0 && false", "false"],
    ["true ? 1 : 1 / 0", "1"],
    ["(1 / 0 == 0) ? 1 : 2", "error: division by zero"],
    ["dyn(1) || false", "error: no such overload"],
    ["1 && true", "refused: expected type 'bool' but found 'int'"],
    ["[1, 0].all(x, 1 / x > 0)", "error: division by zero"],
    ["[1, 0, -1].all(x, 1 / x > 0)", "false"],
    ["[0, 1].exists(x, 1 / x > 0)", "true"],
    ["[1, 1].exists_one(x, x == 1)", "false"],
    ["[1, 2].existsOne(x, x == 1)", "true"],
    ["[1, 0].exists_one(x, 1 / x == 1)", "error: division by zero"],
    ["[1, 2, 3].map(x, x > 1, x * 2)", "[4, 6]"],
    ["[1, 2, 3].filter(x, x > 1)", "[2, 3]"],
    ["{'a': 1}.map(k, k)", '["a"]'],
    ["{'a': 1}.all(k, v, k == 'a' && v == 1)", "true"],
    ["[5, 6].transformList(i, v, i + v)", "[5, 7]"],
    ["{'a': 1}.transformMap(k, v, v + 1)", '{"a": 2}'],
    ["[1, 1].transformMapEntry(i, v, {v: i})", "error: insert failed: key 1 already exists"],
    [
      "1.all(x, true)",
      "refused: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ],
  ]);
});

describe("selection and indexing", () => {
  expressionTable(it, [
    ["{'a': 1}.a", "1"],
    ["{'a': 1}.b", "error: no such key: b"],
    ["has({'a': 1}.a) && !has({'a': 1}.b)", "true"],
    ["{'a': 1}['b']", "error: no such key: b"],
    ["[1][1]", "error: index out of bounds: 1"],
    ["[1][-1]", "error: index out of bounds: -1"],
    ["[1, 2][dyn(1.0)]", "2"],
    ["{'a': 1, 'a': 2}", "error: Failed with repeated key"],
    ["{dyn(1): 1, dyn(1u): 2}", "error: Failed with repeated key"],
    ["{'a': 1}.?a", "optional(1)"],
    ["{'a': 1}.?b", "none"],
    ["{'a': {'b': 1}}.?a.b", "optional(1)"],
    ["{'a': {'b': 1}}.?x.b.orValue(7)", "7"],
    ["[1][?0].value()", "1"],
    ["[1][?5].value()", "error: optional.none() dereference"],
    ["[1, ?optional.none(), ?optional.of(3)]", "[1, 3]"],
    ["{?'a': optional.none(), 'b': 2}", '{"b": 2}'],
    ["optional.of(1).or(optional.of(2))", "optional(1)"],
    ["optional.none().orValue(3)", "3"],
    ["optional.of(2).optMap(x, x * 2)", "optional(4)"],
    ["optional.of(2).optFlatMap(x, optional.none())", "none"],
    ["optional.ofNonZeroValue('')", "none"],
    ["[1, 2].first().value() + [1, 2].last().value()", "3"],
    ["optional.unwrap([optional.of(1), optional.none()])", "[1]"],
  ]);
});

describe("conversions", () => {
  expressionTable(it, [
    ["int('12') + int(3.9) + int(-3.9) + int(7u)", "19"],
    [
      "int('1x')",
      "refused: program instantiation failed: type conversion error from 'string' to 'int'",
    ],
    ["int(dyn('1x') + '')", "error: type conversion error from 'string' to 'int'"],
    [
      "string(timestamp('2024-02-29T12:00:00+02:00') + duration('1h'))",
      '"2024-02-29T13:00:00+02:00"',
    ],
    ["timestamp(-62135596801)", "refused: invalid timestamp argument"],
    ["int(1e19)", "refused: program instantiation failed: integer overflow"],
    ["uint(-1)", "refused: program instantiation failed: unsigned integer overflow"],
    ["double('1.5e3')", "1500"],
    [
      "double('x')",
      "refused: program instantiation failed: type conversion error from 'string' to 'double'",
    ],
    ["bool('True') && !bool('0')", "true"],
    [
      "bool('yes')",
      "refused: program instantiation failed: type conversion error from 'string' to 'bool'",
    ],
    ["string(1.0) + string(1e6) + string(true) + string(5u)", '"11e+06true5"'],
    [
      "string(b'\\xff')",
      "refused: program instantiation failed: invalid UTF-8 in bytes, cannot convert to string",
    ],
    ["string(duration('1h30m'))", '"5400s"'],
    ["string(timestamp('2024-02-29T12:00:00.5+02:00'))", '"2024-02-29T12:00:00.5+02:00"'],
    ["duration('xyz')", "refused: invalid duration argument"],
    ["timestamp('2023-02-29T00:00:00Z')", "refused: invalid timestamp argument"],
    [
      "duration(['xyz'][0])",
      "error: type conversion error from 'string' to 'google.protobuf.Duration'",
    ],
    ["int(timestamp('1970-01-01T00:01:00Z'))", "60"],
    ["size('😀a') + size(b'abc') + size([1]) + size({})", "6"],
  ]);
});

describe("time", () => {
  const at = "timestamp('2024-12-31T23:30:15.250Z')";
  expressionTable(it, [
    [`${at}.getFullYear()`, "2024"],
    [`${at}.getFullYear('+01:00')`, "2025"],
    [`${at}.getMonth()`, "11"],
    [`${at}.getDate()`, "31"],
    [`${at}.getDayOfMonth()`, "30"],
    [`${at}.getDayOfYear()`, "365"],
    [`${at}.getDayOfWeek()`, "2"],
    [`${at}.getHours('America/New_York')`, "18"],
    [`${at}.getMinutes()`, "30"],
    [`${at}.getSeconds()`, "15"],
    [`${at}.getMilliseconds()`, "250"],
    [`${at}.getHours('Nowhere/Land')`, "error: unknown time zone Nowhere/Land"],
    ["duration('3h2m1.5s').getHours()", "3"],
    ["duration('3h2m1.5s').getMinutes()", "182"],
    ["duration('3h2m1.5s').getSeconds()", "10921"],
    ["duration('3h2m1.5s').getMilliseconds()", "10921500"],
  ]);
});

describe("texts", () => {
  expressionTable(it, [
    ["'hello'.contains('ell') && 'hello'.startsWith('he') && 'hello'.endsWith('lo')", "true"],
    ["'abc'.matches('^a.c$') && matches('abc', 'b')", "true"],
    ["'a'.matches('(')", "refused: invalid matches argument"],
    ["'a'.matches('(?=a)')", "refused: invalid matches argument"],
    ["dyn(1).startsWith('a')", "error: no such overload: startsWith(int, string)"],
  ]);
});
