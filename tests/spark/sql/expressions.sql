-- of a row
a[0]
a[1]
m['x']
st.f
st.`g h`
!b
~n
n ^ 3
n & 3
n | 3
i <=> nl
s || n
i div 2
n % 3
-n % 3
n::string
'a' 'b'
"dq"
'a\tb'
'\\'
'\u0041'
r'\n'
R"a\b"
'it''s'
'%\%'
1e3
1.5BD
1.50
.5
1e-2D
2.F
100L
5S
X'1F'
x''
DATE '2024-1-2'
DATE'2024'
TIMESTAMP '2024-01-02 03:04:05.6'
TIMESTAMP_NTZ'2024-01-01'
TIMESTAMP_LTZ'2024-01-01 00:00:00+02:00'
INTERVAL 1 DAY
INTERVAL '1' DAY
INTERVAL '1 2:3:4.5' DAY TO SECOND
INTERVAL -2 MONTH
INTERVAL '1-2' YEAR TO MONTH
- INTERVAL '3' HOUR
INTERVAL 3 weeks
INTERVAL '1 day 2 hours'
dt + INTERVAL 1 MONTH
dt - 1
dt + 1
ts - ts
dt - DATE'2024-01-01'
ts + make_dt_interval(n)
n BETWEEN 0 AND 1
n NOT BETWEEN 0 AND 1
s LIKE 'a%'
s LIKE 'a1\'\n\%\_'
s LIKE '%!%!_' ESCAPE '!'
s NOT LIKE 'a%'
s ILIKE 'A%'
s RLIKE '^a\\d'
s REGEXP 'a'
s LIKE ANY ('a1%','a2%')
s LIKE ALL ('a%','%2%')
s NOT LIKE ANY ('a1%','a2%')
s ILIKE ANY ('A1%')
n IN (1,2,NULL)
n NOT IN (1,2)
b IS TRUE
b IS NOT FALSE
nl IS UNKNOWN
b IS UNKNOWN
nl IS DISTINCT FROM 1
nl IS NOT DISTINCT FROM i
CASE n WHEN 1 THEN 'x' ELSE 'y' END
CASE WHEN n>0 THEN 1 END
if(b, 1, 2)
CAST(d AS DECIMAL(5,1))
TRY_CAST(s AS INT)
CAST(n AS TINYINT)
CAST(s AS VARCHAR(3))
CAST(s AS CHAR(9))
CAST(dt AS TIMESTAMP)
CAST(a AS ARRAY<STRING>)
CAST(m AS MAP<STRING, INT>)
CAST(st AS STRUCT<f: INT, g: STRING>)
CAST(i AS NUMERIC(4))
CAST(i AS DEC)
CAST(i AS REAL)
CAST(i AS LONG)
CAST(i AS SHORT)
CAST(i AS BYTE)
CAST(ts AS TIMESTAMP_NTZ)
CAST(tn AS TIMESTAMP_LTZ)
CAST(INTERVAL '1' DAY AS STRING)
CAST('1' AS INTERVAL DAY)
EXTRACT(YEAR FROM dt)
EXTRACT(DOW FROM dt)
EXTRACT(week FROM ts)
EXTRACT(SECOND FROM ts)
EXTRACT(DAYOFWEEK_ISO FROM dt)
extract(day from INTERVAL 5 DAY)
date_trunc(u, ts)
trunc(dt, u)
date_trunc('HOUR', ts)
date_trunc('week', ts)
trunc(dt, 'MM')
date_format(ts, 'y')
date_format(ts, "yyyy-MM-dd'T'HH:mm:ss.SSSXXX")
date_format(ts, 'EEE d MMM yy D a hh')
to_date('02/2024', 'MM/yyyy')
to_timestamp('2024-01-01T10', "yyyy-MM-dd'T'HH")
to_char(dc, '999.99')
to_char(dt, 'yyyy')
to_varchar(dc, '$99.9')
to_number('12', '99')
try_to_number('x', '99')
from_unixtime(i, 'yyyy')
unix_timestamp('2024', 'yyyy')
unix_timestamp(ts)
unix_date(dt)
unix_seconds(ts)
timestamp_millis(i)
date_from_unix_date(n)
date_add(dt, n)
date_sub(dt, n)
dateadd(DAY, n, dt)
dateadd(MONTH, 1, ts)
date_add(HOUR, 3, ts)
timestampadd(MINUTE, n, ts)
datediff(DAY, dt, ts)
datediff(dt, DATE'2024-01-01')
timestampdiff(HOUR, ts, tn)
date_diff(dt, dt)
add_months(dt, n)
months_between(ts, dt)
months_between(ts, dt, false)
next_day(dt, 'MO')
last_day(dt)
make_date(2024, 1, 2)
weekday(dt)
dayofweek(dt)
weekofyear(dt)
substring(s, 2)
substring(s FROM 2 FOR 1)
substr(s, -2)
substring(s, 0, 2)
left(s, 2)
right(s, 1)
trim(s)
trim(BOTH 'a' FROM s)
trim('a' FROM s)
trim(LEADING FROM '  x')
ltrim('a', s)
rtrim('_', s)
btrim(s, 'a')
position('1' IN s)
position('1', s)
position('1', s, 2)
locate('1', s)
instr(s, '1')
overlay(s PLACING 'Q' FROM 2)
overlay(s, 'Q', 1, 2)
replace(s, 'a')
replace(s, 'a', 'b')
translate(s, 'a1', 'xy')
regexp_replace(s, '(\\d)', '<$1>')
regexp_extract(s, '(\\d)', 1)
regexp_extract(s, 'a(\\d)')
regexp_extract_all(s, '(\\d)')
regexp_count(s,'a')
split(s, '1')
split(s, '', 2)
split_part(s, '1', 1)
concat_ws('-', s, NULL, n)
concat(s, n)
concat(a, a)
reverse(a)
reverse(s)
initcap('hello wORLD')
lpad(s, 6)
lpad(s, 6, '*')
rpad(s, 6, 'xy')
repeat(s, 2)
space(3)
ascii(s)
chr(65)
char(66)
length(bn)
length(s)
char_length(s)
octet_length(s)
bit_length(s)
hex(s)
hex(i)
unhex('41')
md5(s)
sha1(s)
sha(s)
sha2(s, 256)
sha2(s, 0)
crc32(s)
base64(bn)
unbase64('eg==')
encode(s, 'utf-8')
decode(bn, 'utf-8')
decode(n, 1, 'one', 2, 'two', 'other')
decode(n, 1, 'one')
format_number(d, 2)
format_string('%d %s', n, s)
printf('%05d', n)
conv('ff', 16, 10)
bin(i)
round(d, 1)
round(d)
bround(2.5)
ceil(d)
ceil(d, 1)
ceiling(d)
floor(dc, 1)
log(d + 1)
log(2, i + 1)
log2(i+1)
log10(i+1)
ln(i+1)
log1p(i)
exp(i)
expm1(i)
pow(i, 2)
power(i, 2)
sqrt(i)
cbrt(i)
sign(n)
signum(n)
abs(n)
mod(n, 3)
pmod(n, 3)
greatest(n, 1)
least(n, 1, NULL)
rint(d)
hypot(i, 1)
atan2(i, 1)
degrees(d)
factorial(3)
width_bucket(d, 0, 2, 4)
bit_count(n)
getbit(n, 0)
bit_get(n, 1)
shiftleft(n, 1)
shiftright(n, 1)
shiftrightunsigned(n, 1)
n << 1
coalesce(nl, 0)
nvl(nl, 0)
nvl2(nl, 1, 2)
ifnull(nl, 0)
nullif(n, 1)
nullifzero(n)
zeroifnull(nl)
equal_null(nl, 1)
isnull(nl)
isnotnull(nl)
nanvl(d, 0)
isnan(d)
array(1, 2)
array(n, nl)
array_size(a)
size(a)
cardinality(a)
size(m)
array_contains(a, 1L)
array_position(a, 1L)
array_append(a, 9L)
array_prepend(a, 9L)
array_insert(a, 1, 7L)
array_insert(a, -1, 7L)
array_remove(a, 1L)
array_distinct(a)
array_union(a, a)
array_intersect(a, array(1L))
array_except(a, array(1L))
array_join(a, ',')
array_join(a, ',', 'N')
array_max(a)
array_min(a)
array_repeat(s, 2)
array_sort(a)
sort_array(a)
sort_array(a, false)
array_compact(a)
arrays_overlap(a, a)
arrays_zip(a, a)
slice(a, 1, 2)
slice(a, -1, 1)
element_at(a, 1)
element_at(a, -2)
element_at(m, 'x')
try_element_at(a, 9)
get(a, 1)
flatten(array(a, a))
sequence(1, 5)
sequence(1, 5, 2)
sequence(5, 1)
sequence(dt, dt + 2)
sequence(dt, dt + INTERVAL 1 MONTH, INTERVAL 2 WEEK)
transform(a, x -> x + 1)
transform(a, (x, j) -> x + j)
filter(a, x -> x > 1)
exists(a, x -> x > 1)
forall(a, x -> x > 0)
aggregate(a, 0L, (acc, x) -> acc + coalesce(x, 0))
reduce(a, 0L, (acc, x) -> acc + coalesce(x, 0), acc -> acc * 2)
zip_with(a, a, (x, y) -> x + y)
map(s, n)
map('a', 1, 'b', 2)
map_keys(m)
map_values(m)
map_entries(m)
map_from_arrays(array(s), array(n))
map_from_entries(array(struct(s, n)))
map_concat(m, map('y', 1L))
map_contains_key(m, 'x')
map_filter(m, (k, v) -> v > 1)
transform_keys(m, (k, v) -> upper(k))
transform_values(m, (k, v) -> v + 1)
map_zip_with(m, m, (k, v, w) -> v + w)
str_to_map('a:1,b:2')
str_to_map('a=1;b=2', ';', '=')
struct(n, s)
named_struct('a', n, 'b', s)
(n, s)
to_json(st)
to_json(m)
to_json(struct(ts), map('timestampFormat', 'yyyy'))
from_json('{"a":1}', 'a INT')
from_json('{"t":"2024"}', 't TIMESTAMP', map('timestampFormat', 'yyyy'))
get_json_object('{"a":{"b":2}}', '$.a.b')
json_array_length('[1,2]')
json_object_keys('{"a":1}')
schema_of_json('{"a":1}')
from_csv('1,2', 'a INT, b INT')
to_csv(st)
xpath_string('<a>b</a>', 'a')
string(parse_json('{"b" : 1, "a":2}'))
to_json(parse_json('{"b" : 1}'))
variant_get(parse_json('{"a":1}'), '$.a', 'int')
string(try_parse_json(s))
is_variant_null(parse_json('null'))
typeof(n)
typeof(parse_json('1'))
string(TIME'10:00:01')
hash(n, s)
xxhash64(s)
stack(1, 1)
from_utc_timestamp(ts, 'CET')
to_utc_timestamp(tn, 'CET')
convert_timezone('UTC','CET', tn)
s COLLATE UTF8_LCASE = upper(s)
collate(s, 'UNICODE')
collation(s)
startswith(s, 'a')
endswith(s, '_')
contains(s, '1')
soundex('x')
levenshtein(s, 'a1')
levenshtein(s, 'a1', 1)
luhn_check('1')
mask('Ab1')
mask('Ab1', 'Q')
sentences('Hi. You')
elt(1, s, 'b')
find_in_set('a', 'b,a')
url_encode('a b')
parse_url('http://x/y?a=1', 'QUERY', 'a')
like(s, 'a%')
ilike(s, 'A%')
rlike(s, 'a')
regexp_like(s, 'a')
regexp_substr(s,'\\d')
regexp_instr(s,'\\d')
try_add(n, 1)
try_divide(n, 0)
try_subtract(n,1)
try_multiply(n,2)
try_mod(n,2)
positive(n)
negative(n)
assert_true(true)
"a""b"
"a''b"
''''
'\101'
'\0'
'\Z'
'\b'
'\r'
'\q'
'\U0001F600'
'\_x'
'\%'
'\x41'
'\u00e9'
'é'
'\''
"\""
"'"
'"'
'\1012'
'\08'
'\377'
'\400'
r'\u0041'
R'a\'
'a''' 'b'
'\N'
'\/'
'\a'
'\e'
'\f'
'\v'
'{x}'
'$x'
'${y}'
'a' 'b' "c"
'%'
s LIKE '%\\%%'
s RLIKE '\\d'
s RLIKE r'\d'
split(s, '\\d')
regexp_replace(s, r'(\d)', r'$1\\')
CASE WHEN s = 'O''Brien' THEN "d""q" END
concat('a''b', "c")
map('k''', 1)
DATE'2024-01-01'
x'4a'
X'4A'
cast(X'4A' as string)
1E5
-1
- -1
+1
1.
1e-3
9999999999
99999999999999999999
-9223372036854775808
.5e1
1D
1.5F
NULL
true
TRUE
'a' || NULL
INTERVAL '-1-2' YEAR TO MONTH
INTERVAL '1 02:03:04' DAY TO SECOND
INTERVAL '5' HOUR
INTERVAL '1' MONTH + INTERVAL '2' MONTH
INTERVAL 1.5 SECOND
INTERVAL '10:20' HOUR TO MINUTE
TIMESTAMP'2024-01-01 00:00:00 Europe/Paris'
string(TIME '10:00:01.25')
`i`
t.i
t.`i`
st.f + 1
st['f']
a[size(a) - 1]
m['x'] + 1
array(1,2)[1]
named_struct('a', 1).a
struct(1 AS x).x
(n)
((n + 1) * 2)
n - (n - 1)
n - n - 1
2 / 3 / 4
2 / (3 / 4)
10 % 3 * 2
NOT b AND b
NOT (b AND b)
b OR b AND NOT b
n = 1 IS NULL
- n * 2
-(n)
~ n + 1
n & 1 + 1
n | 1 & 2 ^ 3
1 < 2 = b
'1' + 1
1 + '2'
n == 1
n <> 1
n != 1
b = (1 = 1)
s BETWEEN 'a' AND 'b' AND b
n BETWEEN 1 AND 2 OR b
CASE WHEN b THEN CASE n WHEN 1 THEN 2 END ELSE 3 END
CASE b WHEN true THEN 1 END + 1
transform(a, x -> x || '''')
n::double / 2
n::int::string
n :: bigint
(n + 1)::string
- n::string
'2024-01-01'::date + 1
CAST(NULL AS INT)
array('a', "b")
exists(array(1), x -> x = n)
s COLLATE UTF8_BINARY
n DIV 2 * 2
i % 2 = 0 AND NOT i > 2
n | i << 2
n & i << 1
i << 1 + 1
i << 1 | 1
i << 1 << 1
1 << i - 1
n & 3 | 4 ^ 1
1 + n || '2'
n = 1 <=> b
NOT n <=> 1
NOT b <=> b
!b <=> b
!b = b
! (b = b)
-n::string || 'x'
- i % 3
-i::int % 3
~n::int & 1
a[0]::int + 1
ts - INTERVAL 1 DAY 2 HOURS
ts - INTERVAL '1' DAY '2' HOUR
ts + 2 * INTERVAL 1 DAY 2 HOURS
ts - INTERVAL 1 DAY 2 HOURS + INTERVAL 3 MINUTES
- INTERVAL 1 DAY 2 HOURS
INTERVAL 1 DAY 2 HOURS / 2
ts BETWEEN ts - INTERVAL 1 DAY 2 HOURS AND ts - INTERVAL 1 HOUR
dt - INTERVAL 1 YEAR 2 MONTHS
n DIV 2 * 3 % 2
n * 3 DIV 2
10 - n DIV 2
n IS NULL AND b OR NOT b
n NOT IN (1) OR b
NOT n IN (1) AND b
n BETWEEN 1 AND 2 AND b
CASE WHEN n > 0 THEN 1 ELSE 2 END + 1
CASE n WHEN 1 THEN b ELSE NOT b END
if(b, n, i) * 2
n + 1 > 2 AND n - 1 < 5
n > 1 = b
(n, s) IN ((1, 'x'), (0, 'y'))
n + - 1
n - - 1
n - -1
- - n
-(-n)
- -n
n * -1
2 * (n + 1) - (3 - n)
(n - (n - 1)) - (1 - n)
s COLLATE UTF8_LCASE = 'A1'
s || 'x' COLLATE UTF8_LCASE = 'q'
st.f * 2 + a[1]
m['x'] - 1
transform(a, x -> x * 2 - (x - 1))
filter(a, x -> x > 1 OR x IS NULL AND true)
aggregate(a, 0L, (s, x) -> s - coalesce(x, 0) - 1)
n::bigint << 2
n > 0 OR b AND NOT n = 1
NOT (n > 0 OR b) AND n < 5
EXISTS(a, x -> x = n) OR b
array_contains(a, i) = b
s RLIKE 'a' AND NOT b
n % 2 = 0 = b
5 - 3 - 1
8 / 4 / 2
2 * 3 % 4
2 + 3 || '4'
'a' || 'b' || 'c'
(n IS NULL) = b
i = 1 OR i = 2 AND n = 0
ts - dt
dt - 1 - 1
dt + 1 - dt
date_add(dt, n - 1) - 1
(ts - INTERVAL 1 DAY) - INTERVAL 2 HOURS
ts - (INTERVAL 1 DAY + INTERVAL 2 HOURS)
INTERVAL 3 DAYS - INTERVAL 1 DAY 2 HOURS
i * INTERVAL 1 DAY 12 HOURS + ts
try_to_timestamp(s, 'yyyy')
try_to_date(s)
try_to_date('2024-01-01', 'yyyy-MM-dd')
try_make_timestamp_ntz(2024, n, 1, 2, 3, 4)
try_make_timestamp_ltz(2024, n, 1, 2, 3, 4.5)
try_make_timestamp_ltz(2024, n, 1, 2, 3, 4.5, 'CET')
try_make_timestamp(2024, n, 1, 2, 3, 4.5)
make_timestamp_ntz(2024, 1, 2, 3, 4, n + 5)
make_timestamp_ltz(2024, 1, 2, 3, 4, n + 5)
make_timestamp(dt)
try_make_timestamp(dt)
to_timestamp_ntz('2024-01-01 00:00:00')
to_timestamp_ltz('2024-01-01', 'yyyy-MM-dd')
negative(1)
-(1) + n
contains(bn, X'7A')
startswith(bn, X'7A')
endswith(bn, X'00')
hex(lpad(bn, 6, X'01'))
hex(rpad(bn, 6))
to_xml(named_struct('a', i))
to_xml(named_struct('a', ts), map('timestampFormat', 'dd/MM/yyyy'))
from_xml(concat('<p><a>', i, '</a></p>'), 'a INT')
from_xml('<p><a>26/08/2015</a></p>', 'a DATE', map('dateFormat', 'dd/MM/yyyy'))
xpath(concat('<a><b>', i, '</b></a>'), 'a/b/text()')
-- of shifts
n >> 1
n ^ i >> 1
cast(n as bigint) >> 1 & 1
-- of a window
sum(n) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 1 DAY 2 HOURS PRECEDING AND CURRENT ROW)
ntile(2) OVER (ORDER BY i)
lag(n) OVER (ORDER BY i)
lag(n, 2, 0) OVER (ORDER BY i)
lead(n, 1) IGNORE NULLS OVER (ORDER BY i)
nth_value(nl, 2) OVER (ORDER BY i)
first_value(nl) IGNORE NULLS OVER (ORDER BY i)
first(nl, true) OVER (ORDER BY i)
string_agg(s, '+') OVER ()
sum(n) FILTER (WHERE n > 0) OVER (ORDER BY i)
count(*) OVER (PARTITION BY b)
-- of all rows
avg(n)
mean(d)
var_samp(n)
std(n)
any(b)
some(b)
every(b)
bool_and(b)
count_if(b)
max_by(s, i)
min_by(s, i)
max_by(s, i, 2)
collect_set(b)
array_agg(n)
approx_count_distinct(n, 0.01)
percentile(n, 0.5)
percentile(n, array(0.2, 0.8))
percentile_approx(n, 0.5)
approx_percentile(n, 0.5, 10)
median(n)
mode(b)
skewness(n)
corr(n, d)
covar_pop(n, d)
regr_slope(n, d)
bit_xor(n)
listagg(s, ',') WITHIN GROUP (ORDER BY i DESC)
first(n)
last_value(n)
any_value(b)
max(n)
min_by(n, i)
kurtosis(n)
try_sum(n)
try_avg(n)
bitmap_count(bitmap_construct_agg(bitmap_bit_position(i)))
count(n, d)
sum(n + 1) * 2
max(struct(n, s)).n
count(*) FILTER (WHERE s = 'a''b')
max(s) || ''''
-- of different values
count(DISTINCT n)
sum(DISTINCT n)
collect_list(DISTINCT b)
