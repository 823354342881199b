;; The kernels of a pass by SIMD of 128 bits; kernels.js says what each does, and has the same in plain JavaScript.
;; No relaxed SIMD: some browsers refuse a whole module for one such instruction. Run `node tests/js/assemble.js` after a change.
(module
  (import "page" "memory" (memory 1))

  ;; A tile of 4 rows and 8 columns is what 16 registers hold; of both matrices every number that is read is used at least four times.
  (func (export "product") (param $a i32) (param $lda i32) (param $b i32) (param $bias i32) (param $out i32) (param $ldo i32)
    (param $rows i32) (param $depth i32) (param $cols i32) (param $add i32)
    (local $row i32) (local $at i32) (local $end i32) (local $left i32) (local $to i32)
    (local $a0 i32) (local $a1 i32) (local $a2 i32) (local $a3 i32) (local $o0 i32) (local $o1 i32) (local $o2 i32) (local $o3 i32)
    (local $x v128) (local $b0 v128) (local $b1 v128)
    (local $c00 v128) (local $c01 v128) (local $c10 v128) (local $c11 v128) (local $c20 v128) (local $c21 v128) (local $c30 v128) (local $c31 v128)
    (local.set $lda (i32.shl (local.get $lda) (i32.const 2)))
    (local.set $ldo (i32.shl (local.get $ldo) (i32.const 2)))
    (local.set $depth (i32.shl (local.get $depth) (i32.const 5)))
    (loop $panel
      (local.set $row (i32.const 0)) (local.set $left (local.get $a)) (local.set $to (local.get $out))
      (local.set $end (i32.add (local.get $b) (local.get $depth)))
      (loop $tile
        (local.set $at (local.get $b)) (local.set $a0 (local.get $left)) (local.set $o0 (local.get $to))
        (local.set $a1 (i32.add (local.get $a0) (local.get $lda)))
        (local.set $a2 (i32.add (local.get $a1) (local.get $lda)))
        (local.set $a3 (i32.add (local.get $a2) (local.get $lda)))
        (local.set $o1 (i32.add (local.get $o0) (local.get $ldo)))
        (local.set $o2 (i32.add (local.get $o1) (local.get $ldo)))
        (local.set $o3 (i32.add (local.get $o2) (local.get $ldo)))
        (local.set $c00 (v128.const i32x4 0 0 0 0)) (local.set $c01 (v128.const i32x4 0 0 0 0))
        (local.set $c10 (v128.const i32x4 0 0 0 0)) (local.set $c11 (v128.const i32x4 0 0 0 0))
        (local.set $c20 (v128.const i32x4 0 0 0 0)) (local.set $c21 (v128.const i32x4 0 0 0 0))
        (local.set $c30 (v128.const i32x4 0 0 0 0)) (local.set $c31 (v128.const i32x4 0 0 0 0))
        (loop $four
          ;; number 0 of four of each row, times eight columns
          (local.set $b0 (v128.load offset=0 (local.get $at))) (local.set $b1 (v128.load offset=16 (local.get $at)))
          (local.set $x (v128.load32_splat offset=0 (local.get $a0)))
          (local.set $c00 (f32x4.add (local.get $c00) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c01 (f32x4.add (local.get $c01) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $x (v128.load32_splat offset=0 (local.get $a1)))
          (local.set $c10 (f32x4.add (local.get $c10) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c11 (f32x4.add (local.get $c11) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $x (v128.load32_splat offset=0 (local.get $a2)))
          (local.set $c20 (f32x4.add (local.get $c20) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c21 (f32x4.add (local.get $c21) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $x (v128.load32_splat offset=0 (local.get $a3)))
          (local.set $c30 (f32x4.add (local.get $c30) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c31 (f32x4.add (local.get $c31) (f32x4.mul (local.get $x) (local.get $b1))))
          ;; number 1 of four
          (local.set $b0 (v128.load offset=32 (local.get $at))) (local.set $b1 (v128.load offset=48 (local.get $at)))
          (local.set $x (v128.load32_splat offset=4 (local.get $a0)))
          (local.set $c00 (f32x4.add (local.get $c00) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c01 (f32x4.add (local.get $c01) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $x (v128.load32_splat offset=4 (local.get $a1)))
          (local.set $c10 (f32x4.add (local.get $c10) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c11 (f32x4.add (local.get $c11) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $x (v128.load32_splat offset=4 (local.get $a2)))
          (local.set $c20 (f32x4.add (local.get $c20) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c21 (f32x4.add (local.get $c21) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $x (v128.load32_splat offset=4 (local.get $a3)))
          (local.set $c30 (f32x4.add (local.get $c30) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c31 (f32x4.add (local.get $c31) (f32x4.mul (local.get $x) (local.get $b1))))
          ;; number 2 of four
          (local.set $b0 (v128.load offset=64 (local.get $at))) (local.set $b1 (v128.load offset=80 (local.get $at)))
          (local.set $x (v128.load32_splat offset=8 (local.get $a0)))
          (local.set $c00 (f32x4.add (local.get $c00) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c01 (f32x4.add (local.get $c01) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $x (v128.load32_splat offset=8 (local.get $a1)))
          (local.set $c10 (f32x4.add (local.get $c10) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c11 (f32x4.add (local.get $c11) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $x (v128.load32_splat offset=8 (local.get $a2)))
          (local.set $c20 (f32x4.add (local.get $c20) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c21 (f32x4.add (local.get $c21) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $x (v128.load32_splat offset=8 (local.get $a3)))
          (local.set $c30 (f32x4.add (local.get $c30) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c31 (f32x4.add (local.get $c31) (f32x4.mul (local.get $x) (local.get $b1))))
          ;; number 3 of four
          (local.set $b0 (v128.load offset=96 (local.get $at))) (local.set $b1 (v128.load offset=112 (local.get $at)))
          (local.set $x (v128.load32_splat offset=12 (local.get $a0)))
          (local.set $c00 (f32x4.add (local.get $c00) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c01 (f32x4.add (local.get $c01) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $x (v128.load32_splat offset=12 (local.get $a1)))
          (local.set $c10 (f32x4.add (local.get $c10) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c11 (f32x4.add (local.get $c11) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $x (v128.load32_splat offset=12 (local.get $a2)))
          (local.set $c20 (f32x4.add (local.get $c20) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c21 (f32x4.add (local.get $c21) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $x (v128.load32_splat offset=12 (local.get $a3)))
          (local.set $c30 (f32x4.add (local.get $c30) (f32x4.mul (local.get $x) (local.get $b0)))) (local.set $c31 (f32x4.add (local.get $c31) (f32x4.mul (local.get $x) (local.get $b1))))
          (local.set $a0 (i32.add (local.get $a0) (i32.const 16))) (local.set $a1 (i32.add (local.get $a1) (i32.const 16))) (local.set $a2 (i32.add (local.get $a2) (i32.const 16))) (local.set $a3 (i32.add (local.get $a3) (i32.const 16)))
          (br_if $four (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 128))) (local.get $end))))
        (if (local.get $add) (then
          (local.set $c00 (f32x4.add (local.get $c00) (v128.load offset=0 (local.get $o0)))) (local.set $c01 (f32x4.add (local.get $c01) (v128.load offset=16 (local.get $o0))))
          (local.set $c10 (f32x4.add (local.get $c10) (v128.load offset=0 (local.get $o1)))) (local.set $c11 (f32x4.add (local.get $c11) (v128.load offset=16 (local.get $o1))))
          (local.set $c20 (f32x4.add (local.get $c20) (v128.load offset=0 (local.get $o2)))) (local.set $c21 (f32x4.add (local.get $c21) (v128.load offset=16 (local.get $o2))))
          (local.set $c30 (f32x4.add (local.get $c30) (v128.load offset=0 (local.get $o3)))) (local.set $c31 (f32x4.add (local.get $c31) (v128.load offset=16 (local.get $o3))))))
        (local.set $b0 (v128.load (local.get $bias))) (local.set $b1 (v128.load offset=16 (local.get $bias)))
        (v128.store offset=0 (local.get $o0) (f32x4.add (local.get $c00) (local.get $b0))) (v128.store offset=16 (local.get $o0) (f32x4.add (local.get $c01) (local.get $b1)))
        (v128.store offset=0 (local.get $o1) (f32x4.add (local.get $c10) (local.get $b0))) (v128.store offset=16 (local.get $o1) (f32x4.add (local.get $c11) (local.get $b1)))
        (v128.store offset=0 (local.get $o2) (f32x4.add (local.get $c20) (local.get $b0))) (v128.store offset=16 (local.get $o2) (f32x4.add (local.get $c21) (local.get $b1)))
        (v128.store offset=0 (local.get $o3) (f32x4.add (local.get $c30) (local.get $b0))) (v128.store offset=16 (local.get $o3) (f32x4.add (local.get $c31) (local.get $b1)))
        (local.set $left (i32.add (local.get $left) (i32.shl (local.get $lda) (i32.const 2))))
        (local.set $to (i32.add (local.get $to) (i32.shl (local.get $ldo) (i32.const 2))))
        (br_if $tile (i32.lt_u (local.tee $row (i32.add (local.get $row) (i32.const 4))) (local.get $rows))))
      (local.set $b (local.get $end))
      (local.set $bias (i32.add (local.get $bias) (i32.const 32)))
      (local.set $out (i32.add (local.get $out) (i32.const 32)))
      (br_if $panel (i32.gt_s (local.tee $cols (i32.sub (local.get $cols) (i32.const 8))) (i32.const 0)))))

  (func (export "spread") (param $from i32) (param $lda i32) (param $to i32) (param $down i32) (param $across i32) (param $rows i32) (param $width i32)
    (local $at i32) (local $end i32) (local $place i32)
    (local.set $across (i32.shl (local.get $across) (i32.const 2)))
    (loop $row
      (local.set $at (local.get $from)) (local.set $place (local.get $to))
      (local.set $end (i32.add (local.get $from) (i32.shl (local.get $width) (i32.const 2))))
      (loop $number
        (f32.store (local.get $place) (f32.load (local.get $at)))
        (local.set $place (i32.add (local.get $place) (local.get $across)))
        (br_if $number (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $end))))
      (local.set $from (i32.add (local.get $from) (i32.shl (local.get $lda) (i32.const 2))))
      (local.set $to (i32.add (local.get $to) (i32.shl (local.get $down) (i32.const 2))))
      (br_if $row (local.tee $rows (i32.sub (local.get $rows) (i32.const 1))))))

  (func (export "move") (param $from i32) (param $lda i32) (param $to i32) (param $ldo i32) (param $rows i32) (param $width i32)
    (loop $each
      (memory.copy (local.get $to) (local.get $from) (i32.shl (local.get $width) (i32.const 2)))
      (local.set $from (i32.add (local.get $from) (i32.shl (local.get $lda) (i32.const 2))))
      (local.set $to (i32.add (local.get $to) (i32.shl (local.get $ldo) (i32.const 2))))
      (br_if $each (local.tee $rows (i32.sub (local.get $rows) (i32.const 1))))))

  ;; The sum of the lanes.
  (func $sum (param $x v128) (result f32)
    (f32.add (f32.add (f32x4.extract_lane 0 (local.get $x)) (f32x4.extract_lane 1 (local.get $x)))
      (f32.add (f32x4.extract_lane 2 (local.get $x)) (f32x4.extract_lane 3 (local.get $x)))))

  ;; exp(scale x + shift) of numbers in their place, for what is at most 0; their sum. Below -80 it is exp(-80), which is no number that
  ;; makes products slow. x = n ln 2 + r, and exp(r) is a polynomial of degree 5, right to 1e-7 for |r| <= ln 2 / 2.
  (func $exponentials (param $at i32) (param $count i32) (param $scale f32) (param $shift f32) (result f32)
    (local $x v128) (local $n v128) (local $total v128) (local $end i32)
    (local.set $end (i32.add (local.get $at) (i32.shl (local.get $count) (i32.const 2))))
    (loop $four
      (local.set $x (f32x4.max (f32x4.splat (f32.const -80))
        (f32x4.add (f32x4.mul (v128.load (local.get $at)) (f32x4.splat (local.get $scale))) (f32x4.splat (local.get $shift)))))
      (local.set $n (f32x4.nearest (f32x4.mul (local.get $x) (f32x4.splat (f32.const 1.44269504)))))
      ;; ln 2 in two parts, the first of which has few digits, so that n times it is exact.
      (local.set $x (f32x4.sub (f32x4.sub (local.get $x) (f32x4.mul (local.get $n) (f32x4.splat (f32.const 0.693359375))))
        (f32x4.mul (local.get $n) (f32x4.splat (f32.const -2.12194440e-4)))))
      (local.set $x (f32x4.add (f32x4.splat (f32.const 1)) (f32x4.mul (local.get $x)
        (f32x4.add (f32x4.splat (f32.const 0.99999970)) (f32x4.mul (local.get $x)
        (f32x4.add (f32x4.splat (f32.const 0.49999148)) (f32x4.mul (local.get $x)
        (f32x4.add (f32x4.splat (f32.const 0.16667639)) (f32x4.mul (local.get $x)
        (f32x4.add (f32x4.splat (f32.const 0.041898161)) (f32x4.mul (local.get $x) (f32x4.splat (f32.const 0.0082902722)))))))))))))
      (local.set $x (f32x4.mul (local.get $x)
        (i32x4.shl (i32x4.add (i32x4.trunc_sat_f32x4_s (local.get $n)) (i32x4.splat (i32.const 127))) (i32.const 23))))
      (v128.store (local.get $at) (local.get $x))
      (local.set $total (f32x4.add (local.get $total) (local.get $x)))
      (br_if $four (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end))))
    (call $sum (local.get $total)))

  (func (export "softmax") (param $at i32) (param $rows i32) (param $count i32) (param $stride i32) (param $scale f32) (param $stats i32)
    (local $i i32) (local $last i32) (local $end i32) (local $most v128) (local $sum f32) (local $largest f32)
    (loop $row
      (local.set $last (i32.add (local.get $at) (i32.shl (local.get $count) (i32.const 2))))
      (local.set $end (i32.add (local.get $at) (i32.shl (local.get $stride) (i32.const 2))))
      (loop $rest (if (i32.lt_u (local.get $last) (local.get $end)) (then ;; what fills the stride is no score
        (f32.store (local.get $last) (f32.const -3e38))
        (local.set $last (i32.add (local.get $last) (i32.const 4)))
        (br $rest))))
      (local.set $most (v128.load (local.get $at))) (local.set $i (local.get $at))
      (loop $four
        (local.set $most (f32x4.max (local.get $most) (v128.load (local.get $i))))
        (br_if $four (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 16))) (local.get $end))))
      (local.set $largest (f32.mul (local.get $scale) (f32.max
        (f32.max (f32x4.extract_lane 0 (local.get $most)) (f32x4.extract_lane 1 (local.get $most)))
        (f32.max (f32x4.extract_lane 2 (local.get $most)) (f32x4.extract_lane 3 (local.get $most))))))
      (local.set $sum (call $exponentials (local.get $at) (local.get $stride) (local.get $scale) (f32.neg (local.get $largest))))
      (f32.store (local.get $stats) (local.get $largest)) (f32.store offset=4 (local.get $stats) (local.get $sum))
      (local.set $most (f32x4.splat (f32.div (f32.const 1) (local.get $sum))))
      (loop $four
        (v128.store (local.get $at) (f32x4.mul (v128.load (local.get $at)) (local.get $most)))
        (br_if $four (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end))))
      (local.set $stats (i32.add (local.get $stats) (i32.const 8)))
      (br_if $row (local.tee $rows (i32.sub (local.get $rows) (i32.const 1))))))

  (func (export "softmaxBack") (param $at i32) (param $gradient i32) (param $rows i32) (param $stride i32) (param $scale f32)
    (local $i i32) (local $bytes i32) (local $sum v128)
    (local.set $bytes (i32.shl (local.get $stride) (i32.const 2)))
    (loop $row
      (local.set $sum (v128.const i32x4 0 0 0 0)) (local.set $i (i32.const 0))
      (loop $four
        (local.set $sum (f32x4.add (local.get $sum) (f32x4.mul (v128.load (i32.add (local.get $at) (local.get $i))) (v128.load (i32.add (local.get $gradient) (local.get $i))))))
        (br_if $four (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 16))) (local.get $bytes))))
      (local.set $sum (f32x4.splat (call $sum (local.get $sum)))) (local.set $i (i32.const 0))
      (loop $four
        (v128.store (i32.add (local.get $gradient) (local.get $i)) (f32x4.mul (f32x4.splat (local.get $scale))
          (f32x4.mul (v128.load (i32.add (local.get $at) (local.get $i)))
            (f32x4.sub (v128.load (i32.add (local.get $gradient) (local.get $i))) (local.get $sum)))))
        (br_if $four (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 16))) (local.get $bytes))))
      (local.set $at (i32.add (local.get $at) (local.get $bytes))) (local.set $gradient (i32.add (local.get $gradient) (local.get $bytes)))
      (br_if $row (local.tee $rows (i32.sub (local.get $rows) (i32.const 1))))))

  ;; The mean of a row, and one over its deviation. The zeros that fill a stride are in both sums: they add nothing to the first, and the
  ;; square of the mean each to the second.
  (func $moments (param $from i32) (param $width i32) (param $bytes i32) (param $eps f32) (result f32 f32)
    (local $i i32) (local $sums v128) (local $mean f32) (local $x v128) (local $count f32)
    (local.set $count (f32.convert_i32_u (local.get $width)))
    (loop $four
      (local.set $sums (f32x4.add (local.get $sums) (v128.load (i32.add (local.get $from) (local.get $i)))))
      (br_if $four (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 16))) (local.get $bytes))))
    (local.set $mean (f32.div (call $sum (local.get $sums)) (local.get $count)))
    (local.set $sums (v128.const i32x4 0 0 0 0)) (local.set $i (i32.const 0))
    (loop $four
      (local.set $x (f32x4.sub (v128.load (i32.add (local.get $from) (local.get $i))) (f32x4.splat (local.get $mean))))
      (local.set $sums (f32x4.add (local.get $sums) (f32x4.mul (local.get $x) (local.get $x))))
      (br_if $four (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 16))) (local.get $bytes))))
    (local.get $mean)
    (f32.div (f32.const 1) (f32.sqrt (f32.add (local.get $eps) (f32.div (f32.sub (call $sum (local.get $sums))
      (f32.mul (f32.convert_i32_u (i32.sub (i32.shr_u (local.get $bytes) (i32.const 2)) (local.get $width))) (f32.mul (local.get $mean) (local.get $mean))))
      (local.get $count))))))

  (func (export "norm") (param $from i32) (param $to i32) (param $gain i32) (param $shift i32) (param $rows i32) (param $width i32)
    (param $stride i32) (param $eps f32)
    (local $i i32) (local $bytes i32) (local $means v128) (local $scale v128)
    (local.set $bytes (i32.shl (local.get $stride) (i32.const 2)))
    (loop $row
      (call $moments (local.get $from) (local.get $width) (local.get $bytes) (local.get $eps))
      (local.set $scale (f32x4.splat)) (local.set $means (f32x4.splat))
      (local.set $i (i32.const 0))
      (loop $four
        (v128.store (i32.add (local.get $to) (local.get $i)) (f32x4.add (v128.load (i32.add (local.get $shift) (local.get $i)))
          (f32x4.mul (v128.load (i32.add (local.get $gain) (local.get $i))) (f32x4.mul (local.get $scale)
            (f32x4.sub (v128.load (i32.add (local.get $from) (local.get $i))) (local.get $means))))))
        (br_if $four (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 16))) (local.get $bytes))))
      (local.set $from (i32.add (local.get $from) (local.get $bytes))) (local.set $to (i32.add (local.get $to) (local.get $bytes)))
      (br_if $row (local.tee $rows (i32.sub (local.get $rows) (i32.const 1))))))

  ;; With z the normalised row and g its gradient times the gain: (g - mean of g - z mean of g z) over the deviation.
  (func (export "normBack") (param $from i32) (param $gradient i32) (param $to i32) (param $gain i32) (param $rows i32) (param $width i32)
    (param $stride i32) (param $eps f32)
    (local $i i32) (local $bytes i32) (local $count v128) (local $means v128) (local $scale v128) (local $g v128) (local $z v128) (local $first v128) (local $second v128)
    (local.set $bytes (i32.shl (local.get $stride) (i32.const 2)))
    (local.set $count (f32x4.splat (f32.convert_i32_u (local.get $width))))
    (loop $row
      (call $moments (local.get $from) (local.get $width) (local.get $bytes) (local.get $eps))
      (local.set $scale (f32x4.splat)) (local.set $means (f32x4.splat))
      (local.set $first (v128.const i32x4 0 0 0 0)) (local.set $second (v128.const i32x4 0 0 0 0)) (local.set $i (i32.const 0))
      (loop $four
        (local.set $g (f32x4.mul (v128.load (i32.add (local.get $gain) (local.get $i))) (v128.load (i32.add (local.get $gradient) (local.get $i)))))
        (local.set $z (f32x4.mul (local.get $scale) (f32x4.sub (v128.load (i32.add (local.get $from) (local.get $i))) (local.get $means))))
        (local.set $first (f32x4.add (local.get $first) (local.get $g)))
        (local.set $second (f32x4.add (local.get $second) (f32x4.mul (local.get $g) (local.get $z))))
        (br_if $four (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 16))) (local.get $bytes))))
      (local.set $first (f32x4.div (f32x4.splat (call $sum (local.get $first))) (local.get $count)))
      (local.set $second (f32x4.div (f32x4.splat (call $sum (local.get $second))) (local.get $count))) (local.set $i (i32.const 0))
      (loop $four
        (local.set $g (f32x4.mul (v128.load (i32.add (local.get $gain) (local.get $i))) (v128.load (i32.add (local.get $gradient) (local.get $i)))))
        (local.set $z (f32x4.mul (local.get $scale) (f32x4.sub (v128.load (i32.add (local.get $from) (local.get $i))) (local.get $means))))
        (v128.store (i32.add (local.get $to) (local.get $i)) (f32x4.add (v128.load (i32.add (local.get $to) (local.get $i)))
          (f32x4.mul (local.get $scale) (f32x4.sub (local.get $g) (f32x4.add (local.get $first) (f32x4.mul (local.get $z) (local.get $second)))))))
        (br_if $four (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 16))) (local.get $bytes))))
      (local.set $from (i32.add (local.get $from) (local.get $bytes))) (local.set $gradient (i32.add (local.get $gradient) (local.get $bytes)))
      (local.set $to (i32.add (local.get $to) (local.get $bytes)))
      (br_if $row (local.tee $rows (i32.sub (local.get $rows) (i32.const 1))))))

  ;; x Phi(x), erf by Abramowitz and Stegun 7.1.26; its slope is Phi(x) + x phi(x). In pieces of at most 256 numbers, whose exponentials
  ;; stand at address 16.
  (func (export "gelu") (param $at i32) (param $count i32) (param $gradient i32)
    (local $i i32) (local $piece i32) (local $x v128) (local $t v128) (local $e v128)
    (loop $pieces
      (local.set $piece (select (local.get $count) (i32.const 256) (i32.lt_u (local.get $count) (i32.const 256)))) (local.set $i (i32.const 0))
      (loop $four
        (local.set $x (v128.load (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2)))))
        (v128.store offset=16 (i32.shl (local.get $i) (i32.const 2)) (f32x4.mul (local.get $x) (local.get $x)))
        (br_if $four (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 4))) (local.get $piece))))
      (drop (call $exponentials (i32.const 16) (local.get $piece) (f32.const -0.5) (f32.const 0)))
      (local.set $i (i32.const 0))
      (loop $four
        (local.set $x (v128.load (local.get $at)))
        (local.set $e (v128.load offset=16 (i32.shl (local.get $i) (i32.const 2))))
        (local.set $t (f32x4.div (f32x4.splat (f32.const 1)) (f32x4.add (f32x4.splat (f32.const 1))
          (f32x4.mul (f32x4.splat (f32.const 0.23164190)) (f32x4.abs (local.get $x))))))
        (local.set $t (f32x4.mul (f32x4.splat (f32.const 0.5)) (f32x4.mul (local.get $e) (f32x4.mul (local.get $t)
          (f32x4.add (f32x4.splat (f32.const 0.254829592)) (f32x4.mul (local.get $t)
          (f32x4.add (f32x4.splat (f32.const -0.284496736)) (f32x4.mul (local.get $t)
          (f32x4.add (f32x4.splat (f32.const 1.421413741)) (f32x4.mul (local.get $t)
          (f32x4.add (f32x4.splat (f32.const -1.453152027)) (f32x4.mul (local.get $t) (f32x4.splat (f32.const 1.061405429))))))))))))))
        (local.set $t (v128.bitselect (local.get $t) (f32x4.sub (f32x4.splat (f32.const 1)) (local.get $t))
          (f32x4.lt (local.get $x) (v128.const i32x4 0 0 0 0))))
        (if (local.get $gradient)
          (then
            (v128.store (local.get $gradient) (f32x4.mul (v128.load (local.get $gradient)) (f32x4.add (local.get $t)
              (f32x4.mul (f32x4.mul (local.get $x) (local.get $e)) (f32x4.splat (f32.const 0.39894228))))))
            (local.set $gradient (i32.add (local.get $gradient) (i32.const 16))))
          (else (v128.store (local.get $at) (f32x4.mul (local.get $x) (local.get $t)))))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br_if $four (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 4))) (local.get $piece))))
      (br_if $pieces (local.tee $count (i32.sub (local.get $count) (local.get $piece)))))))
