"""Writes schema.txt from the XML schemas in checkouts, whose names judge_test.go lists:

    python3 testdata/schema.py CHECKOUTS schema.txt
"""
import os,re,sys
import xml.etree.ElementTree as ET
X='{http://www.w3.org/2001/XMLSchema}'
XS='http://www.w3.org/2001/XMLSchema'
class Schema:
    def __init__(s,root):
        s.types={};s.elems={};s.done=set();s.ctx={};s.load(root);s.names={}
    def load(s,f):
        f=os.path.abspath(f)
        if f in s.done or not os.path.exists(f): return
        s.done.add(f); text=open(f,encoding='utf8').read(); t=ET.fromstring(text.encode())
        head=re.search(r'<(?:\w+:)?schema\b[^>]*>',text,re.S).group(0)
        ns=dict(re.findall(r'xmlns:(\w[\w.-]*)="([^"]*)"',head)); d=re.search(r'xmlns="([^"]*)"',head); ns['']=d.group(1) if d else ''
        tns=t.get('targetNamespace','')
        for c in t.iter(): s.ctx[c]=(ns,tns)
        for c in t:
            if c.tag in(X+'import',X+'include'):
                if c.get('schemaLocation'): s.load(os.path.join(os.path.dirname(f),c.get('schemaLocation')))
            elif c.tag in(X+'complexType',X+'simpleType'): s.types[(tns,c.get('name'))]=c
            elif c.tag==X+'element': s.elems[(tns,c.get('name'))]=c
    def q(s,node,name):
        p,_,l=name.rpartition(':'); ns,tns=s.ctx[node]
        return (ns.get(p,tns if p=='' else '') ,l)
    def typ(s,e):
        # type node or builtin name of an element
        if e.get('ref'): e=s.elems[s.q(e,e.get('ref'))]
        c=e.find(X+'complexType')
        if c is None: c=e.find(X+'simpleType')
        if c is not None: return c
        if e.get('type') is None: return 'anyType'
        k=s.q(e,e.get('type'))
        if k[0]==XS: return k[1]
        return s.types[k]
    def own(s,c):
        # elements of c without nested anonymous types
        for e in c:
            yield e
            if e.tag!=X+'element':
                yield from s.own(e)
    def bases(s,c):
        for e in s.own(c):
            if e.tag in(X+'extension',X+'restriction') and e.get('base'):
                k=s.q(e,e.get('base')); yield k[1] if k[0]==XS else s.types[k]
    def base(s,c):
        while not isinstance(c,str):
            n=next(iter(s.bases(c)),None)
            if n is None: return 'string'
            c=n
        return c
    def attrs(s,c):
        acc={}
        if isinstance(c,str): return acc
        for b in s.bases(c): acc.update(s.attrs(b))
        for a in s.own(c):
            if a.tag==X+'attribute':
                if a.get('use')=='prohibited': acc.pop(a.get('name'),None)
                else: acc[a.get('name')]=('!' if a.get('use')=='required' else '')+('='+a.get('fixed').replace(' ','_') if a.get('fixed') else '')
        return acc
    def enums(s,c):
        return [] if isinstance(c,str) else [e.get('value') for e in s.own(c) if e.tag==X+'enumeration']
    def children(s,c):
        out=[]
        if isinstance(c,str): return out
        def walk(n,cmin,cmax,choice):
            for e in n:
                if e.tag==X+'element':
                    mn=int(e.get('minOccurs','1')); mx=e.get('maxOccurs','1'); mx=999 if mx=='unbounded' else int(mx)
                    if choice: mn=0
                    nm=e.get('name') or s.q(e,e.get('ref'))[1]
                    out.append((nm,s.typ(e),mn*cmin,mx if cmax==1 else 999))
                elif e.tag in(X+'sequence',X+'choice',X+'complexContent',X+'extension',X+'all'):
                    if e.tag==X+'extension' and n.tag==X+'complexContent':
                        k=s.q(e,e.get('base')); out.extend(s.children(s.types[k]) if k[0]!=XS else [])
                    walk(e,cmin*int(e.get('minOccurs','1')),1 if e.get('maxOccurs','1')=='1' else 999,choice or e.tag==X+'choice')
        walk(c,1,1,False)
        return out
    def name(s,c,hint):
        if isinstance(c,str): return c
        n=c.get('name')
        if n is None: n=hint
        n=re.sub('Type$','',n)
        k=n
        while s.names.setdefault(k,c) is not c: k+='_'
        return k
KIND={'decimal':'d','boolean':'b','date':'D','time':'T','dateTime':'DT','base64Binary':'64','integer':'i'}
def isempty(schema,c):
    if isinstance(c,str): return False
    return c.tag==X+'complexType' and c.find(X+'simpleContent') is None and not schema.children(c)
def needs(schema,c):
    if isinstance(c,str): return False
    return any(e.tag==X+'choice' and e.get('minOccurs','1')!='0' for e in schema.own(c))
def emit(schema,roots,descend,leaf):
    lines=[];todo=[]
    def leafname(c,hint):
        if isempty(schema,c): sig='=-'
        else:
            sig='='+KIND.get(schema.base(c),'s'); en=schema.enums(c)
            if en and len(en)<60 and all(' ' not in x for x in en): sig+='|'+'|'.join(en)
        sig+=''.join(' @'+a+r for a,r in sorted(schema.attrs(c).items()))
        if sig not in leaf:
            n=hint
            while n in leaf.values(): n+='_'
            leaf[sig]=n; lines.append(n+' '+sig)
        return leaf[sig]
    for r in roots:
        e=[v for k,v in schema.elems.items() if k[1]==r][0]; c=schema.typ(e); todo.append(c)
        lines.append(f'root {r} {schema.name(c,r)}')
    seen=set()
    while todo:
        c=todo.pop(0)
        n=schema.name(c,'')
        if n in seen: continue
        seen.add(n)
        ch=schema.children(c); w=[n]
        if needs(schema,c): w.append('!')
        for a,req in sorted(schema.attrs(c).items()): w.append('@'+a+req)
        for nm,t,mn,mx in ch:
            sub=schema.children(t)
            if sub and not descend(nm): tn='*'
            elif not sub: tn=leafname(t,schema.base(t)+'-' )
            else: tn=schema.name(t,nm); todo.append(t)
            w.append(f'{nm}:{tn}:{mn}{"n" if mx==999 else mx}')
        lines.append(' '.join(w))
    return lines
S=sys.argv[1].rstrip('/')+'/'
def names(schema,root):
    seen=set();out=set()
    def rec(t):
        if t in seen: return
        seen.add(t)
        for n,ty,_,_ in schema.children(t): out.add(n); rec(ty)
    rec(schema.typ([v for k,v in schema.elems.items() if k[1]==root][0]))
    return out
M=S+'mustangproject/validator/src/main/resources/schema/ZF_250/'
out=[];ext=None
for key,d,f in [('extended','EXTENDED','EXTENDED'),('minimum','MINIMUM','MINIMUM'),('basic-wl','BASIC-WL','BASICWL'),('basic','BASIC','BASIC'),('en16931','EN16931','EN16931')]:
    sc=Schema(M+d+'/FACTUR-X_'+f+'.xsd')
    if key=='extended': ext=names(sc,'CrossIndustryInvoice')
    out.append('schema '+key); out+=emit(sc,['CrossIndustryInvoice'],lambda n:True,{})
sc=Schema(S+'eInvoicing-EN16931/cii/schema/D16B SCRDM (Subset)/uncoupled clm/CII/uncefact/data/standard/CrossIndustryInvoice_100pD16B.xsd')
out.append('schema cii'); out+=emit(sc,['CrossIndustryInvoice'],lambda n:n in ext,{})
F=S+'mustangproject/validator/src/main/resources/schema/UBL_21/maindoc/UBL-%s-2.1.xsd'
ubl=set("""
AccountingCost AccountingCustomerParty AccountingSupplierParty ActualDeliveryDate AdditionalDocumentReference
AdditionalItemProperty AdditionalStreetName Address AddressLine AllowanceCharge AllowanceChargeReason
AllowanceChargeReasonCode AllowanceTotalAmount Amount Attachment BaseAmount BaseQuantity BillingReference
BuyerReference BuyersItemIdentification CardAccount ChargeIndicator ChargeTotalAmount CityName ClassifiedTaxCategory
CommodityClassification CompanyID CompanyLegalForm Contact ContractDocumentReference Country CountrySubentity
CreditNote CreditNoteLine CreditNoteTypeCode CreditedQuantity CustomizationID Delivery DeliveryLocation DeliveryParty
Description DescriptionCode DespatchDocumentReference DocumentCurrencyCode DocumentDescription DocumentReference
DocumentTypeCode DueDate ElectronicMail EmbeddedDocumentBinaryObject EndDate EndpointID ExternalReference
FinancialInstitutionBranch HolderName ID Invoice InvoiceDocumentReference InvoiceLine InvoicePeriod InvoiceTypeCode
InvoicedQuantity IssueDate Item ItemInstance LegalMonetaryTotal LineExtensionAmount MultiplierFactorNumeric Name
NetworkID Note OrderLineReference OrderReference OriginCountry OriginatorDocumentReference Party PartyIdentification
PartyLegalEntity PartyName PartyTaxScheme PayableAmount PayableRoundingAmount PayeeFinancialAccount PayeeParty
PayerFinancialAccount PaymentDueDate PaymentID PaymentMandate PaymentMeans PaymentMeansCode PaymentTerms Percent
PostalAddress PostalZone PrepaidAmount PrepaidPayment Price PriceAmount PrimaryAccountNumberID ProfileID
ProjectReference ReceiptDocumentReference RegistrationName SalesOrderID SellersItemIdentification
StandardItemIdentification StartDate StreetName SubInvoiceLine TaxAmount TaxCategory TaxCurrencyCode TaxExchangeRate
TaxExclusiveAmount TaxExemptionReason TaxExemptionReasonCode TaxInclusiveAmount TaxPointDate TaxRepresentativeParty
TaxScheme TaxSubtotal TaxTotal TaxableAmount Telephone Value
""".split())
out.append('schema ubl'); 
leaf={}; a=emit(Schema(F%'Invoice'),['Invoice'],lambda n:n in ubl,leaf); b=emit(Schema(F%'CreditNote'),['CreditNote'],lambda n:n in ubl,leaf)
out+=a+[l for l in b if l not in a]
open(sys.argv[2],'w').write('''# The structure of documents, from their XML schemas: Factur-X 1.09.2 in its profiles, the Cross Industry Invoice D16B ("cii") and
# UBL 2.1. "root" is the type of a root. A type has its elements in their order as NAME:TYPE:OCCURRENCE, from the smallest
# to the largest number ("n" is any); "*" is a type that is not looked into. "!" means that it has at least one of them.
# A type of texts is "=" and s (text), d (decimal), b (boolean), D (date), T (time), DT (date and time), 64 (Base64), or - (empty).
# "@NAME" is an attribute, with "!" a required one.
'''+'\n'.join(out)+'\n')
